#pragma once

// Reads the series of a preprocessor through its table, as a host does.

#include <loupe/abi/lens.h>
#include <loupe/abi/preprocessor.h>
#include <loupe/error.h>
#include <loupe/text/nearest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace loupe {
inline namespace v1_0 {

/// The aggregations of a series into one number.
enum class Aggregate { mean, median, max, min, q1, q3, iqr, std, count, sum, last, nan_count, inf_count };

inline bool is_quantile(Aggregate aggregate) {
  return aggregate == Aggregate::median || aggregate == Aggregate::q1 || aggregate == Aggregate::q3 ||
         aggregate == Aggregate::iqr;
}

/// The numbers of one series that a lens watches, read at once. A small value; good until the tick ends.
class SeriesNumbers {
 public:
  /// Throws Error if there is no such series.
  SeriesNumbers(const loupe_wiring* wiring, loupe_source* source, std::size_t index)
      : wiring_(wiring), source_(source), index_(index) {
    row_.struct_size = sizeof row_;
    detail::ErrorBuffer error;
    error.check(wiring->read(wiring->context, source, index, &row_, error.get()));
  }

  const char* name() const { return row_.name; }
  /// The number of finite values, for Report::value.
  uint64_t count() const { return row_.count; }
  uint64_t nan_count() const { return row_.nan_count; }
  uint64_t inf_count() const { return row_.inf_count; }
  /// Whether no value came, not even NaN or Inf.
  bool empty() const { return row_.count + row_.nan_count + row_.inf_count == 0; }
  /// Nullopt if it is empty; NaN if no value was finite. Throws Error for a quantile that the preprocessor was not
  /// asked to keep.
  std::optional<double> get(Aggregate aggregate) const {
    const double number = is_quantile(aggregate) ? quartile(aggregate) : of_row(aggregate);
    return empty() ? std::nullopt : std::optional(number);
  }
  /// The values at these shares of the sorted finite ones, from 0 to 1; NaN if there are none. Throws Error if the
  /// preprocessor was not asked to keep quantiles.
  std::vector<double> quantiles(const std::vector<double>& q) const {
    std::vector<double> values(q.size(), NAN);
    read_quantiles(q.data(), q.size(), values.data());
    return values;
  }

 private:
  double of_row(Aggregate aggregate) const {
    switch (aggregate) {
      case Aggregate::count:
        return static_cast<double>(row_.count);
      case Aggregate::sum:
        return row_.sum;
      case Aggregate::last:
        return row_.last;
      case Aggregate::nan_count:
        return static_cast<double>(row_.nan_count);
      case Aggregate::inf_count:
        return static_cast<double>(row_.inf_count);
      default:
        break;
    }
    if (row_.count == 0) return NAN;
    return aggregate == Aggregate::mean  ? row_.mean
           : aggregate == Aggregate::std ? row_.standard_deviation
           : aggregate == Aggregate::min ? row_.minimum
                                         : row_.maximum;
  }
  /// Reads all three quartiles at the first call.
  double quartile(Aggregate aggregate) const {
    if (!quartiles_) {
      static constexpr double q[] = {0.25, 0.5, 0.75};
      std::array<double, 3> values = {NAN, NAN, NAN};
      read_quantiles(q, values.size(), values.data());
      quartiles_ = values;
    }
    const auto [low, middle, high] = *quartiles_;
    return aggregate == Aggregate::q1       ? low
           : aggregate == Aggregate::q3     ? high
           : aggregate == Aggregate::median ? middle
                                            : high - low;
  }
  /// Leaves `values` unchanged if there is no finite value.
  void read_quantiles(const double* q, std::size_t count, double* values) const {
    detail::ErrorBuffer error;
    const loupe_status status = wiring_->quantiles(wiring_->context, source_, index_, q, count, values, error.get());
    if (status != LOUPE_NOT_FOUND) error.check(status);
  }

  const loupe_wiring* wiring_;
  loupe_source* source_;
  std::size_t index_;
  loupe_series row_{};
  mutable std::optional<std::array<double, 3>> quartiles_;
};

namespace detail {

/// @param read  (double* values, size_t capacity, size_t* count, loupe_error*), which returns a status
template <class Read>
std::vector<double> read_series_values(Read&& read) {
  ErrorBuffer error;
  std::vector<double> values;
  std::size_t count = 0;
  do {  // events on other threads may add values between two calls
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

/// Throws Error if it cannot be read.
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

/// The message for a request of an unknown series.
inline std::string unknown_series_text(const std::string& series, const std::vector<std::string>& known) {
  std::string text = "there is no series '" + series + "'";
  if (known.empty()) return text + ", and no other so far";
  const std::string meant = nearest(series, known);
  text += meant.empty() ? "." : ", did you mean '" + meant + "'?";
  text += " There are: ";
  for (const std::string& each : known) text += (each == known.front() ? "" : ", ") + each;
  return text;
}
/// Implements loupe_wiring::find on a preprocessor's series.
inline loupe_status find_series(const loupe_preprocessor& table, void* self, const char* name, std::size_t* index,
                                loupe_error* error) {
  return guarded(error, [&]() -> loupe_status {
    if (name == nullptr || index == nullptr)
      throw Error("the series name or the pointer for its index is null", LOUPE_INVALID);
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
