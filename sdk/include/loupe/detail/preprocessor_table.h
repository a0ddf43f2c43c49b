#ifndef LOUPE_DETAIL_PREPROCESSOR_TABLE_H
#define LOUPE_DETAIL_PREPROCESSOR_TABLE_H

// The C table of preprocessors, apart from the other kinds' because a lens also passes it on with one of its own.

#include <loupe/detail/whole.h>
#include <loupe/preprocessor.h>

#include <cstddef>
#include <cstring>
#include <optional>

namespace loupe {
namespace detail {

template <class T>
T& as(void* self) {
  return *static_cast<T*>(self);
}

inline void need_series(void* self, std::size_t i) {
  if (i >= as<Preprocessor>(self).series_count())
    throw Error("there is no series " + std::to_string(i), LOUPE_NOT_FOUND);
}

inline const loupe_preprocessor* preprocessor_table() {
  static const loupe_preprocessor table = {
      sizeof(loupe_preprocessor),
      0,
      [](void* self, loupe_request* request, loupe_error* error) {
        return guarded(error, [&] {
          need(request != nullptr && LOUPE_REACHES(*request, epsilon), "the request");
          const Request wanted = as<Preprocessor>(self).request();
          request->measures = wanted.measures;
          request->passes = wanted.passes;
          request->pass_by_grad = wanted.pass_by_grad;
          request->wants_tensor = wanted.wants_tensor;
          request->unit_dimension = wanted.unit_dimension;
          request->epsilon = wanted.epsilon;
          if (LOUPE_REACHES(*request, places)) request->places = wanted.places;
        });
      },
      [](void* self, const loupe_event* event, loupe_error* error) {
        return guarded(error, [&] {
          need_whole(event);
          as<Preprocessor>(self).process(Event(event));
        });
      },
      [](void* self) { return as<Preprocessor>(self).series_count(); },
      [](void* self, std::size_t i) -> const char* {
        return i < as<Preprocessor>(self).series_count() ? as<Preprocessor>(self).series_name(i).c_str() : "";
      },
      [](void* self, std::size_t i, uint32_t aggregation, double* value, loupe_error* error) {
        return guarded(error, [&]() -> loupe_status {
          need_series(self, i);
          const Series& series = as<Preprocessor>(self).series(i);
          const std::optional<double> number = series.aggregate(aggregation);
          if (!number) {
            throw Error("a quantile of '" + as<Preprocessor>(self).series_name(i) +
                            "' was asked for; set the preprocessor's option 'quantiles', or 'inplace: false'",
                        LOUPE_UNSUPPORTED);
          }
          if (series.empty()) {
            write_error(error, "no values");
            return LOUPE_NOT_FOUND;
          }
          *value = *number;
          return LOUPE_OK;
        });
      },
      [](void* self, std::size_t i, const double** values, std::size_t* count, loupe_error* error) {
        return guarded(error, [&] {
          need_series(self, i);
          const Series& series = as<Preprocessor>(self).series(i);
          if (!series.keeps_values()) throw Error("the values are folded, not kept", LOUPE_UNSUPPORTED);
          *values = series.values().data();
          *count = series.values().size();
        });
      },
      [](void* self, loupe_error* error) { return guarded(error, [&] { as<Preprocessor>(self).reset_all(); }); },
      [](void* self, void* bytes, std::size_t capacity, std::size_t* size, loupe_error* error) {
        return guarded(error, [&] {
          const std::string state = as<Preprocessor>(self).save_state();
          *size = state.size();
          if (capacity >= state.size()) std::memcpy(bytes, state.data(), state.size());
        });
      },
      [](void* self, const void* bytes, std::size_t size, loupe_error* error) {
        return guarded(error, [&] { as<Preprocessor>(self).merge_state({static_cast<const char*>(bytes), size}); });
      }};
  return &table;
}

}  // namespace detail
}  // namespace loupe

#endif
