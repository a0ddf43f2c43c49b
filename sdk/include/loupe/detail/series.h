#ifndef LOUPE_DETAIL_SERIES_H
#define LOUPE_DETAIL_SERIES_H

#include <loupe/abi.h>
#include <loupe/detail/quantile_sketch.h>
#include <loupe/detail/state.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace loupe {

/// Count, mean, population variance, minimum and maximum of a stream in constant memory (Welford 1962), mergeable with
/// another's (Chan, Golub, LeVeque 1979).
struct Running {
  std::uint64_t count = 0;
  double mean = 0, squares = 0, minimum = INFINITY, maximum = -INFINITY;

  void push(double value) {
    ++count;
    const double delta = value - mean;
    mean += delta / static_cast<double>(count);
    squares += delta * (value - mean);
    minimum = std::min(minimum, value);
    maximum = std::max(maximum, value);
  }
  void merge(const Running& other) {
    if (other.count == 0) return;
    if (count == 0) {  // exactly, where the sums below would round
      *this = other;
      return;
    }
    const auto a = static_cast<double>(count);
    const auto b = static_cast<double>(other.count);
    const double delta = other.mean - mean;
    count += other.count;
    mean += delta * b / (a + b);
    squares += other.squares + delta * delta * a * b / (a + b);
    minimum = std::min(minimum, other.minimum);
    maximum = std::max(maximum, other.maximum);
  }
  double variance() const { return count == 0 ? NAN : squares / static_cast<double>(count); }
};

/// The numbers of one epoch under one name. NaN and Inf are counted and never averaged. Not thread-safe.
class Series {
 public:
  enum class Keep {
    running,    ///< count, mean, std, min, max
    quantiles,  ///< the same and a sketch for median, Q1, Q3, IQR
    values      ///< every value
  };
  explicit Series(Keep keep = Keep::running) : keep_(keep) {}

  void push(double value) {
    last_ = value;
    if (std::isnan(value)) {
      ++nan_count_;
      return;
    }
    if (std::isinf(value)) {
      ++inf_count_;
      return;
    }
    running_.push(value);
    if (keep_ == Keep::quantiles) sketch_.push(value);
    if (keep_ == Keep::values) values_.push_back(value);
  }

  /// Adds to the values kept, each to the one of its place, for counts that grow over an epoch, as a histogram's: there
  /// are then always `count` values, in constant memory. Only for Keep::values, and not together with push().
  template <class Number>
  void add(const Number* values, std::size_t count) {
    if (values_.size() < count) values_.resize(count);
    for (std::size_t i = 0; i < count; ++i) values_[i] += static_cast<double>(values[i]);
  }

  bool empty() const { return running_.count + nan_count_ + inf_count_ == 0; }
  const Running& running() const { return running_; }
  const std::vector<double>& values() const { return values_; }
  bool keeps_values() const { return keep_ == Keep::values; }
  Keep keep() const { return keep_; }
  bool knows(std::uint32_t aggregation) const {
    return keep_ != Keep::running || !(aggregation == LOUPE_AGGREGATE_MEDIAN || aggregation == LOUPE_AGGREGATE_Q1 ||
                                       aggregation == LOUPE_AGGREGATE_Q3 || aggregation == LOUPE_AGGREGATE_IQR);
  }

  /// The number that a LOUPE_AGGREGATE_MEAN, … names; NaN when there is nothing to make it of, nullopt when it is not
  /// kept.
  std::optional<double> aggregate(std::uint32_t aggregation) const {
    if (!knows(aggregation)) return std::nullopt;
    const bool any = running_.count > 0;
    switch (aggregation) {
      case LOUPE_AGGREGATE_MEAN:
        return any ? running_.mean : NAN;
      case LOUPE_AGGREGATE_MAX:
        return any ? running_.maximum : NAN;
      case LOUPE_AGGREGATE_MIN:
        return any ? running_.minimum : NAN;
      case LOUPE_AGGREGATE_STD:
        return std::sqrt(running_.variance());
      case LOUPE_AGGREGATE_SUM:
        return running_.mean * static_cast<double>(running_.count);
      case LOUPE_AGGREGATE_LAST:
        return empty() ? NAN : last_;
      case LOUPE_AGGREGATE_COUNT:
        return static_cast<double>(running_.count);
      case LOUPE_AGGREGATE_NAN_COUNT:
        return static_cast<double>(nan_count_);
      case LOUPE_AGGREGATE_INF_COUNT:
        return static_cast<double>(inf_count_);
      case LOUPE_AGGREGATE_MEDIAN:
        return quantile(0.5);
      case LOUPE_AGGREGATE_Q1:
        return quantile(0.25);
      case LOUPE_AGGREGATE_Q3:
        return quantile(0.75);
      case LOUPE_AGGREGATE_IQR:
        return quantile(0.75) - quantile(0.25);
      default:
        return std::nullopt;
    }
  }

  /// Goes on as if the values of `other`, which keeps the same, had been pushed here after those that were.
  void merge(const Series& other) {
    if (!other.empty()) last_ = other.last_;
    running_.merge(other.running_);
    nan_count_ += other.nan_count_;
    inf_count_ += other.inf_count_;
    sketch_.merge(other.sketch_);
    values_.insert(values_.end(), other.values_.begin(), other.values_.end());
  }
  void save(StateWriter& state) const {
    state.number(static_cast<std::uint64_t>(keep_));
    for (const double value : {last_, running_.mean, running_.squares, running_.minimum, running_.maximum})
      state.real(value);
    for (const std::uint64_t count : {running_.count, nan_count_, inf_count_}) state.number(count);
    state.reals(values_);
    sketch_.save(state);
  }
  /// Throws Error for what no save() has written.
  static Series read(StateReader& state) {
    const std::uint64_t keep = state.number();
    if (keep > static_cast<std::uint64_t>(Keep::values)) throw Error("the state keeps values in an unknown way");
    Series series(static_cast<Keep>(keep));
    for (double* value : {&series.last_, &series.running_.mean, &series.running_.squares, &series.running_.minimum,
                          &series.running_.maximum})
      *value = state.real();
    for (std::uint64_t* count : {&series.running_.count, &series.nan_count_, &series.inf_count_})
      *count = state.number();
    series.values_ = state.reals();
    series.sketch_ = QuantileSketch::read(state);
    return series;
  }

  /// Forgets the numbers and keeps the memory.
  void reset() {
    running_ = Running();
    sketch_.clear();
    values_.clear();
    nan_count_ = inf_count_ = 0;
  }

 private:
  double quantile(double q) const {
    if (keep_ == Keep::quantiles) return sketch_.quantile(q);
    if (values_.empty()) return NAN;
    std::vector<double> sorted = values_;
    std::sort(sorted.begin(), sorted.end());
    const double position = q * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const double next = sorted[std::min(below + 1, sorted.size() - 1)];
    return sorted[below] + (position - static_cast<double>(below)) * (next - sorted[below]);
  }

  Keep keep_;  // with these two, what a push touches
  double last_ = NAN;
  Running running_;
  std::uint64_t nan_count_ = 0, inf_count_ = 0;
  QuantileSketch sketch_;
  std::vector<double> values_;
};

}  // namespace loupe

#endif
