#pragma once

#include <loupe/abi.h>
#include <loupe/detail/state.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace loupe {
inline namespace v1_0 {

/// Quantiles of a stream in bounded memory: a KLL sketch (Karnin, Lang, Liberty: "Optimal Quantile Approximation in
/// Streams", FOCS 2016). Up to `capacity` values it is exact; beyond, a quantile's rank is off by less than 1 % of the
/// stream's length with the default capacity (tested on a million heavy-tailed values). Not thread-safe.
class QuantileSketch {
 public:
  explicit QuantileSketch(std::size_t capacity = 512) : capacity_(std::max<std::size_t>(capacity, 8)) { clear(); }

  void push(double value) {
    if (levels_.empty()) add_level();
    levels_[0].push_back(value);
    ++count_;
    if (levels_[0].size() >= capacity_of(0)) compact();
  }

  std::uint64_t count() const { return count_; }

  /// The values at `count` shares `q` (0..1) of the sorted stream, interpolated linearly between neighbours; NaN when
  /// empty.
  void quantiles(const double* q, std::size_t count, double* values) const {
    if (count_ == 0) return static_cast<void>(std::fill_n(values, count, NAN));
    std::vector<std::pair<double, std::uint64_t>> items;
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      for (double value : levels_[level]) items.emplace_back(value, std::uint64_t{1} << level);
    }
    std::sort(items.begin(), items.end());
    for (std::size_t i = 0; i < count; ++i) {
      const double position = std::clamp(q[i], 0.0, 1.0) * static_cast<double>(count_ - 1);
      const auto below = static_cast<std::uint64_t>(position);
      const double low = at_rank(items, below);
      const double high = at_rank(items, std::min(below + 1, count_ - 1));
      const double share = position - static_cast<double>(below);
      values[i] = share == 0 ? low : low + share * (high - low);
    }
  }
  double quantile(double q) const {
    double value = 0;
    quantiles(&q, 1, &value);
    return value;
  }

  /// Continues as if the values of `other` had been pushed here.
  void merge(const QuantileSketch& other) {
    while (levels_.size() < other.levels_.size()) add_level();
    for (std::size_t level = 0; level < other.levels_.size(); ++level)
      levels_[level].insert(levels_[level].end(), other.levels_[level].begin(), other.levels_[level].end());
    count_ += other.count_;
    while (is_over_full()) compact();
  }
  void save(StateWriter& state) const {
    state.number(capacity_);
    state.number(levels_.size());
    for (const auto& level : levels_) state.reals(level);
  }
  /// Throws Error for bytes that save() did not write.
  static QuantileSketch read(StateReader& state) {
    const std::uint64_t capacity = state.number();
    if (capacity > max_capacity) throw Error("the sketch in the state is too large");
    QuantileSketch sketch(static_cast<std::size_t>(capacity));
    const std::uint64_t levels = state.count();
    if (levels > max_levels) throw Error("the sketch in the state has too many levels");
    for (std::uint64_t level = 0; level < levels; ++level) {
      sketch.levels_.push_back(state.reals());
      sketch.count_ += sketch.levels_.back().size() << level;
    }
    return sketch;
  }

  /// Forgets the values and keeps the memory, so that the next epoch does not allocate.
  void clear() {
    for (auto& level : levels_) level.clear();
    count_ = 0;
  }

 private:
  static double at_rank(const std::vector<std::pair<double, std::uint64_t>>& items, std::uint64_t rank) {
    std::uint64_t seen = 0;
    for (const auto& [value, weight] : items) {
      seen += weight;
      if (seen > rank) return value;
    }
    return items.back().first;
  }

  /// Higher levels stand for more values each and keep the full capacity; lower ones may be smaller by 2/3 a level.
  std::size_t capacity_of(std::size_t level) const {
    const double depth = static_cast<double>(levels_.size() - 1 - level);
    return std::max<std::size_t>(
        8, static_cast<std::size_t>(std::ceil(static_cast<double>(capacity_) * std::pow(2.0 / 3.0, depth))));
  }

  bool is_over_full() const {
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      if (levels_[level].size() >= capacity_of(level)) return true;
    }
    return false;
  }

  void add_level() {
    levels_.emplace_back();
    levels_.back().reserve(capacity_ + 1);
  }

  void compact() {
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      if (levels_[level].size() < capacity_of(level)) continue;
      if (level + 1 == levels_.size()) add_level();
      auto& from = levels_[level];
      auto& to = levels_[level + 1];
      std::sort(from.begin(), from.end());
      // An odd value stays at its level, so that the weights still add up to the count.
      const bool odd = from.size() % 2 != 0;
      const double left = from.back();
      const std::size_t pairs = from.size() / 2;
      for (std::size_t i = 0; i < pairs; ++i) to.push_back(from[2 * i + offset()]);
      from.clear();
      if (odd) from.push_back(left);
      flip();
    }
  }

  // A separate random bit with a fixed seed, so that a run can be repeated exactly.
  std::size_t offset() const { return (random_ >> 33) & 1; }
  void flip() { random_ = random_ * 6364136223846793005ULL + 1442695040888963407ULL; }

  static constexpr std::uint64_t max_capacity = 1 << 20, max_levels = 40;
  std::size_t capacity_;
  std::vector<std::vector<double>> levels_;
  std::uint64_t count_ = 0;
  std::uint64_t random_ = 0x9e3779b97f4a7c15ULL;
};

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
    if (count == 0) {  // exact; the sums below would round
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
    running,    ///< count, mean, std, min, max, last
    quantiles,  ///< the same and a sketch for quantiles
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

  /// Adds element-wise to the kept values, for counts that grow over an epoch, as in a histogram: there are always
  /// `count` values, in constant memory. Only for Keep::values, and not together with push().
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
  bool keeps_quantiles() const { return keep_ != Keep::running; }

  /// All its numbers except quantiles.
  /// @param name  borrowed
  loupe_series row(const char* name = "") const {
    loupe_series row{};
    row.struct_size = sizeof row;
    row.name = name;
    row.count = running_.count;
    row.nan_count = nan_count_;
    row.inf_count = inf_count_;
    if (running_.count > 0) {
      row.sum = running_.mean * static_cast<double>(running_.count);
      row.mean = running_.mean;
      row.standard_deviation = std::sqrt(running_.variance());
      row.minimum = running_.minimum;
      row.maximum = running_.maximum;
    }
    if (!empty()) row.last = last_;
    return row;
  }
  /// The values at `count` shares `q` (0..1) of the sorted finite ones, interpolated linearly between neighbours; NaN
  /// if there are none. Only if keeps_quantiles().
  void quantiles(const double* q, std::size_t count, double* values) const {
    if (keep_ == Keep::quantiles) return sketch_.quantiles(q, count, values);
    std::vector<double> sorted = values_;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < count; ++i) values[i] = sorted.empty() ? NAN : value_at(sorted, q[i]);
  }

  /// Continues as if the values of `other`, which keeps the same, had been pushed here next.
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
  /// Throws Error for bytes that save() did not write.
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
  static double value_at(const std::vector<double>& sorted, double q) {
    const double position = q * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const double next = sorted[std::min(below + 1, sorted.size() - 1)];
    return sorted[below] + (position - static_cast<double>(below)) * (next - sorted[below]);
  }

  Keep keep_;  // keep these together: a push touches only them and keep_
  double last_ = NAN;
  Running running_;
  std::uint64_t nan_count_ = 0, inf_count_ = 0;
  QuantileSketch sketch_;
  std::vector<double> values_;
};

}  // namespace v1_0
}  // namespace loupe
