#pragma once

// Reads the series of a preprocessor through its table, as a host does.

#include <loupe/abi/preprocessor.h>
#include <loupe/error.h>
#include <loupe/text/nearest.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

namespace loupe {
inline namespace v1_0 {
namespace detail {

/// @param read  (double* values, size_t capacity, size_t* count, loupe_error*), which gives a status
template <class Read>
std::vector<double> read_series_values(Read&& read) {
  ErrorBuffer error;
  std::vector<double> values;
  std::size_t count = 0;
  do {  // events on other threads may add some between two calls
    values.resize(count);
    error.check(read(values.data(), values.size(), &count, error.get()));
  } while (count > values.size());
  values.resize(count);
  return values;
}
inline std::vector<double> series_values(const loupe_preprocessor& table, void* self, std::size_t index) {
  return read_series_values([&](double* values, std::size_t capacity, std::size_t* count, loupe_error* error) {
    return table.values(self, index, values, capacity, count, error);
  });
}

/// Throws Error where it cannot be read.
inline loupe_series series_row(const loupe_preprocessor& table, void* self, std::size_t index) {
  ErrorBuffer error;
  loupe_series row{};
  row.struct_size = sizeof row;
  error.check(table.read(self, index, &row, error.get()));
  if (row.name == nullptr) throw Error("the series " + std::to_string(index) + " has no name", LOUPE_INVALID);
  return row;
}
inline std::vector<std::string> series_names(const loupe_preprocessor& table, void* self) {
  std::vector<std::string> names;
  const std::size_t count = table.series_count(self);
  for (std::size_t i = 0; i < count; ++i) names.emplace_back(series_row(table, self, i).name);
  return names;
}

/// What is wrong with asking for a series that is not among those that there are.
inline std::string unknown_series_text(const std::string& series, const std::vector<std::string>& known) {
  std::string text = "there is no series '" + series + "'";
  if (known.empty()) return text + ", and no other so far";
  const std::string meant = nearest(series, known);
  if (!meant.empty()) text += ", did you mean '" + meant + "'?";
  text += " There are: ";
  for (const std::string& each : known) text += (each == known.front() ? "" : ", ") + each;
  return text;
}
/// loupe_wiring::find in a table of series.
inline loupe_status find_series(const loupe_preprocessor& table, void* self, const char* name, std::size_t* index,
                                loupe_error* error) {
  return guarded(error, [&]() -> loupe_status {
    if (name == nullptr || index == nullptr)
      throw Error("the name of a series, or the place for its index, is null", LOUPE_INVALID);
    const std::size_t count = table.series_count(self);
    for (*index = 0; *index < count; ++*index) {
      if (std::strcmp(series_row(table, self, *index).name, name) == 0) return LOUPE_OK;
    }
    write_error(error, unknown_series_text(name, series_names(table, self)).c_str());
    return LOUPE_NOT_FOUND;
  });
}

}  // namespace detail
}  // namespace v1_0
}  // namespace loupe
