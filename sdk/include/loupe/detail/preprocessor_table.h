#ifndef LOUPE_DETAIL_PREPROCESSOR_TABLE_H
#define LOUPE_DETAIL_PREPROCESSOR_TABLE_H

// The C table of preprocessors, apart from the other kinds' because a lens also passes it on with one of its own.

#include <loupe/detail/whole.h>
#include <loupe/preprocessor.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>

namespace loupe {
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

inline void need_series(void* self, std::size_t i) {
  if (i >= as<Preprocessor>(self).series_count())
    throw Error("there is no series " + std::to_string(i), LOUPE_NOT_FOUND);
}

inline loupe_status aggregate(const Preprocessor& preprocessor, std::size_t i, uint32_t aggregation, double* value,
                              loupe_error* error) {
  const Series& series = preprocessor.series(i);
  const std::optional<double> number = series.aggregate(aggregation);
  if (!number) {
    throw Error(
        "a quantile of '" + preprocessor.series_name(i) +
            "' was asked for; set the preprocessor's option 'quantiles', or 'inplace: false', or make the series "
            "with Series::Keep::quantiles",
        LOUPE_UNSUPPORTED);
  }
  if (series.empty()) {
    write_error(error, "no values");
    return LOUPE_NOT_FOUND;
  }
  *value = *number;
  return LOUPE_OK;
}

inline const loupe_preprocessor* preprocessor_table() {
  static const loupe_preprocessor table = [] {
    loupe_preprocessor made{};
    made.struct_size = sizeof made;
    made.get_extension = &get_extension<Preprocessor>;
    made.request = [](void* self, loupe_request* request, loupe_error* error) {
      return guarded(error, [&] {
        need(request != nullptr && LOUPE_REACHES(*request, epsilon), "the request");
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
    made.series_name = [](void* self, std::size_t i, char* name, std::size_t capacity, std::size_t* length,
                          loupe_error* error) {
      return guarded(error, [&] {
        need_series(self, i);
        const std::string& whole = as<Preprocessor>(self).series_name(i);
        *length = whole.size();
        if (capacity == 0) return;
        const std::size_t written = std::min(whole.size(), capacity - 1);
        std::memcpy(name, whole.data(), written);
        name[written] = '\0';
      });
    };
    made.aggregate = [](void* self, std::size_t i, uint32_t aggregation, double* value, loupe_error* error) {
      return guarded(error, [&] {
        need_series(self, i);
        return aggregate(as<Preprocessor>(self), i, aggregation, value, error);
      });
    };
    made.values = [](void* self, std::size_t i, double* values, std::size_t capacity, std::size_t* count,
                     loupe_error* error) {
      return guarded(error, [&] {
        need_series(self, i);
        const Series& series = as<Preprocessor>(self).series(i);
        if (!series.keeps_values())
          throw Error("the values are folded, not kept; make the series with Series::Keep::values", LOUPE_UNSUPPORTED);
        *count = series.values().size();
        std::copy_n(series.values().begin(), std::min(*count, capacity), values);
      });
    };
    made.reset = [](void* self, loupe_error* error) {
      return guarded(error, [&] { as<Preprocessor>(self).reset_all(); });
    };
    made.save_state = [](void* self, void* bytes, std::size_t capacity, std::size_t* size, loupe_error* error) {
      return guarded(error, [&] {
        const std::string state = as<Preprocessor>(self).save_state();
        *size = state.size();
        if (capacity >= state.size()) std::memcpy(bytes, state.data(), state.size());
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
}  // namespace loupe

#endif
