#pragma once

// The C table of preprocessors, in its own file because a lens also passes it on with its own preprocessor.

#include <loupe/detail/whole.h>
#include <loupe/preprocessor.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

namespace loupe {
inline namespace v1_0 {
namespace detail {

template <class T>
T& as(void* self) {
  return *static_cast<T*>(self);
}

template <class Kind>
const void* get_extension(void* self, const char* id) {
  const void* table = nullptr;
  guarded(nullptr, [&] { table = id != nullptr ? as<Kind>(self).get_extension(id) : nullptr; });
  return table;
}

inline const Series& series_at(void* self, std::size_t index) {
  if (index >= as<Preprocessor>(self).series_count())
    throw Error("there is no series " + std::to_string(index), LOUPE_NOT_FOUND);
  return as<Preprocessor>(self).series(index);
}

inline loupe_status quantiles(void* self, std::size_t index, const double* q, std::size_t q_count, double* values,
                              loupe_error* error) {
  const Series& series = series_at(self, index);
  if (!series.keeps_quantiles()) {
    throw Error("a quantile of '" + as<Preprocessor>(self).series_name(index) +
                    "' was requested but not kept; set the preprocessor's option 'quantiles', or 'inplace: false', or "
                    "make the series "
                    "with Series::Keep::quantiles",
                LOUPE_UNSUPPORTED);
  }
  if (!std::all_of(q, q + q_count, [](double share) { return share >= 0 && share <= 1; }))
    throw Error("the share of a quantile is not from 0 to 1", LOUPE_INVALID);
  if (series.running().count == 0) {
    write_error(error, "no finite values");
    return LOUPE_NOT_FOUND;
  }
  series.quantiles(q, q_count, values);
  return LOUPE_OK;
}

LOUPE_HIDDEN inline const loupe_preprocessor* preprocessor_table() {
  static const loupe_preprocessor table = [] {
    loupe_preprocessor made{};
    made.struct_size = sizeof made;
    made.get_extension = &get_extension<Preprocessor>;
    made.request = [](void* self, loupe_request* request, loupe_error* error) {
      return guarded(error, [&] {
        need(request != nullptr && LOUPE_REACHES(*request, eps), "the request");
        as<Preprocessor>(self).request().write(*request);
      });
    };
    made.process = [](void* self, const loupe_event* event, loupe_error* error) {
      return guarded(error, [&] {
        need_whole(event);
        as<Preprocessor>(self).process(Event(event));
      });
    };
    made.series_count = [](void* self) { return as<Preprocessor>(self).series_count(); };
    made.read = [](void* self, std::size_t index, loupe_series* row, loupe_error* error) {
      return guarded(error, [&] {
        need(row != nullptr && LOUPE_REACHES(*row, last), "the row of a series");
        loupe_series read = series_at(self, index).row(as<Preprocessor>(self).series_name(index).c_str());
        read.struct_size = row->struct_size;
        std::memcpy(row, &read, std::min<std::size_t>(row->struct_size, sizeof read));
      });
    };
    made.quantiles = [](void* self, std::size_t index, const double* q, std::size_t q_count, double* values,
                        loupe_error* error) {
      return guarded(error, [&] { return quantiles(self, index, q, q_count, values, error); });
    };
    made.values = [](void* self, std::size_t index, double* values, std::size_t capacity, std::size_t* count,
                     loupe_error* error) {
      return guarded(error, [&] {
        const Series& series = series_at(self, index);
        if (!series.keeps_values())
          throw Error("the values are folded, not kept; make the series with Series::Keep::values", LOUPE_UNSUPPORTED);
        *count = series.values().size();
        std::copy_n(series.values().begin(), std::min(*count, capacity), values);
      });
    };
    made.reset = [](void* self, loupe_error* error) {
      return guarded(error, [&] { as<Preprocessor>(self).reset_all(); });
    };
    made.save_state = [](void* self, loupe_write write, void* writer, loupe_error* error) {
      return guarded(error, [&] {
        const std::string state = as<Preprocessor>(self).save_state();
        return write(writer, state.data(), state.size(), error);
      });
    };
    made.merge_state = [](void* self, const void* bytes, std::size_t size, loupe_error* error) {
      return guarded(error, [&] { as<Preprocessor>(self).merge_state({static_cast<const char*>(bytes), size}); });
    };
    return made;
  }();
  return &table;
}

}  // namespace detail
}  // namespace v1_0
}  // namespace loupe
