#ifndef LOUPE_DETAIL_SERIES_READING_H
#define LOUPE_DETAIL_SERIES_READING_H

// Reads names and values of series into buffers that grow until they fit.

#include <loupe/abi/preprocessor.h>
#include <loupe/error.h>
#include <loupe/text/nearest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace loupe {
namespace detail {

/// @param read  (char* name, size_t capacity, size_t* length, loupe_error*), which gives a status
template <class Read>
std::string read_series_name(Read&& read) {
  ErrorBuffer error;
  std::string name(32, '\0');
  std::size_t length = 0;
  error.check(read(name.data(), name.size(), &length, error.get()));
  if (length >= name.size()) {
    name.resize(length + 1);
    error.check(read(name.data(), name.size(), &length, error.get()));
  }
  name.resize(length);
  return name;
}

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

inline std::string series_name(const loupe_preprocessor& table, void* self, std::size_t series) {
  return read_series_name([&](char* name, std::size_t capacity, std::size_t* length, loupe_error* error) {
    return table.series_name(self, series, name, capacity, length, error);
  });
}
inline std::vector<double> series_values(const loupe_preprocessor& table, void* self, std::size_t series) {
  return read_series_values([&](double* values, std::size_t capacity, std::size_t* count, loupe_error* error) {
    return table.values(self, series, values, capacity, count, error);
  });
}
inline std::vector<std::string> series_names(const loupe_preprocessor& table, void* self) {
  std::vector<std::string> names;
  const std::size_t count = table.series_count(self);
  for (std::size_t i = 0; i < count; ++i) names.push_back(series_name(table, self, i));
  return names;
}

/// What is wrong with asking for a series that is not among those that there are.
inline std::string unknown_series_text(const std::string& series, const std::vector<std::string>& known) {
  std::string text = "there is no series '" + series + "'";
  const std::string meant = nearest(series, known);
  if (!meant.empty()) text += ", did you mean '" + meant + "'?";
  text += " There are: ";
  for (const std::string& each : known) text += (each == known.front() ? "" : ", ") + each;
  return text + "; index_of asks for one that may be missing";
}

}  // namespace detail
}  // namespace loupe

#endif
