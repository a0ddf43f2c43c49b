#pragma once

#include <loupe/abi/lens.h>
#include <loupe/error.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

namespace loupe {
inline namespace v1_0 {

/// The ways to make one number of a series.
enum class Aggregate { mean, median, max, min, q1, q3, iqr, std, count, sum, last, nan_count, inf_count };

inline bool is_quantile(Aggregate aggregate) {
  return aggregate == Aggregate::median || aggregate == Aggregate::q1 || aggregate == Aggregate::q3 ||
         aggregate == Aggregate::iqr;
}

/// The numbers of one series that a lens watches, read at once. A small value; good until the tick ends.
class SeriesNumbers {
 public:
  /// Throws Error where there is no such series.
  SeriesNumbers(const loupe_wiring* wiring, loupe_source* source, std::size_t index)
      : wiring_(wiring), source_(source), index_(index) {
    row_.struct_size = sizeof row_;
    detail::ErrorBuffer error;
    error.check(wiring->read(wiring->context, source, index, &row_, error.get()));
  }

  const char* name() const { return row_.name; }
  /// How many finite values its numbers are made of, for Report::value.
  uint64_t count() const { return row_.count; }
  uint64_t nan_count() const { return row_.nan_count; }
  uint64_t inf_count() const { return row_.inf_count; }
  /// Whether nothing came, not even NaN or Inf.
  bool empty() const { return row_.count + row_.nan_count + row_.inf_count == 0; }
  /// Nullopt where it is empty; NaN where nothing finite came to make the number of. Throws Error for a quantile that
  /// the preprocessor was not asked to keep.
  std::optional<double> get(Aggregate aggregate) const {
    const double number = is_quantile(aggregate) ? quartile(aggregate) : of_row(aggregate);
    return empty() ? std::nullopt : std::optional(number);
  }
  /// The values at these shares of the sorted finite ones, from 0 to 1; each NaN where there are none. Throws Error
  /// where the preprocessor was not asked to keep quantiles.
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
  /// Reads all three with the first.
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
  /// Leaves `values` as they are where there is no finite one.
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

}  // namespace v1_0
}  // namespace loupe
