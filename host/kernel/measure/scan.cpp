#include "measure/scan.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "measure/histogram.h"

namespace loupe::measure {
namespace {

bool are_finite(const Sums& sums) {
  return std::isfinite(sums.squares + std::abs(sums.dot) + sums.change_squares + std::abs(sums.dot_change));
}

constexpr int64_t kLongRun = 64;  // shorter ones are not worth a kernel call each
constexpr int64_t kLongRow = 256;

void add_sums(Sums& to, const Sums& sums) {
  to.sum += sums.sum;
  to.squares += sums.squares;
  to.dot += sums.dot;
  to.change_squares += sums.change_squares;
  to.dot_change += sums.dot_change;
}

template <typename T>
void add_range(Partial& to, const Range<T>& range) {
  to.minimum = std::min<double>(to.minimum, range.minimum);
  to.maximum = std::max<double>(to.maximum, range.maximum);
}

/// Compares and keeps the runs of the sample within the `n` elements `x`, which begin at element `at`.
template <typename T>
Sums compare_runs(const Plan<T>& plan, const T* x, int64_t at, int64_t n, int64_t& run) {
  constexpr int64_t kRun = Sample::kRun;
  Sums sums;
  for (; run < plan.sample->runs(); ++run) {
    const int64_t place = plan.sample->place(run);
    if (place >= at + n) break;
    const T* now = x + (place - at);
    const T* last = plan.last != nullptr ? plan.last + run * kRun : nullptr;
    const T* older = plan.older != nullptr ? plan.older + run * kRun : nullptr;
    add_sums(sums, sum_carefully(plan.terms, now, last, older, kRun).sums);
    std::memcpy(plan.keep + run * kRun, now, kRun * sizeof(T));
  }
  return sums;
}

}  // namespace

template <typename T>
bool trustworthy(const Sums& sums, unsigned terms, bool squares_wanted, const T* x, const T* last, int64_t n) {
  if (!are_finite(sums)) return false;
  if constexpr (std::is_same_v<T, float>) {
    if (!squares_wanted) return true;
    const double small = static_cast<double>(n) * kSmallMeanSquare;
    if (sums.squares < small) {
      const Range<T> range = kernels<T>().find_range(x, n);
      if (range.minimum != 0 || range.maximum != 0) return false;
    }
    if ((terms & kChange) != 0 && sums.change_squares < small) {
      if (std::memcmp(x, last, static_cast<size_t>(n) * sizeof(T)) != 0) return false;
    }
  }
  return true;
}

template <typename T>
CarefulSums<T> sum_carefully(unsigned terms, const T* x, const T* last, const T* older, int64_t n) {
  if constexpr (std::is_same_v<T, float>) {
    const Sums sums = kernels<float>().sum_block_in_double(terms, x, last, older, n);
    if (are_finite(sums)) return {sums, 0, 0, kernels<float>().find_range(x, n)};
  }
  CarefulSums<T> result;
  result.range = {std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity()};
  Sums& sums = result.sums;
  for (int64_t i = 0; i < n; ++i) {
    if (std::isnan(x[i])) ++result.nan_count;
    if (std::isinf(x[i])) ++result.inf_count;
    if (!std::isfinite(x[i])) continue;
    const double now = x[i];
    sums.sum += now;
    sums.squares += now * now;
    result.range.minimum = std::min(result.range.minimum, x[i]);
    result.range.maximum = std::max(result.range.maximum, x[i]);
    if (terms == kOwnTerms || !std::isfinite(last[i])) continue;
    const double before = last[i];
    const double change = now - before;
    if ((terms & kDot) != 0) sums.dot += now * before;
    if ((terms & kChange) != 0) sums.change_squares += change * change;
    if ((terms & kDotChange) != 0 && std::isfinite(older[i])) sums.dot_change += change * (before - older[i]);
  }
  return result;
}

template bool trustworthy(const Sums&, unsigned, bool, const float*, const float*, int64_t);
template bool trustworthy(const Sums&, unsigned, bool, const double*, const double*, int64_t);
template CarefulSums<float> sum_carefully(unsigned, const float*, const float*, const float*, int64_t);
template CarefulSums<double> sum_carefully(unsigned, const double*, const double*, const double*, int64_t);

UnitGrid unit_grid(const loupe_tensor& tensor, bool dense, int32_t unit_dimension) {
  UnitGrid grid;
  if (tensor.numel == 0) return grid;
  if (tensor.dim == 0) {
    grid.units = 1;
    return grid;
  }
  const int64_t wanted = unit_dimension < 0 ? unit_dimension + tensor.dim : unit_dimension;
  const int64_t d = std::clamp<int64_t>(wanted, 0, tensor.dim - 1);
  grid.units = tensor.sizes[d];
  grid.inner = dense ? tensor.strides[d] : elements_inside(tensor, d);
  if (grid.units == 1) grid.inner = tensor.numel;  // all elements are of one unit, for any stride
  const int64_t row = grid.units * grid.inner;
  if (grid.units == tensor.numel) return grid;
  if (grid.inner >= kLongRun) {
    grid.flags = UnitGrid::Flags::kPerUnit;
    grid.flag_count = grid.units;
  } else {
    const int64_t rows_for_long = (kLongRow + row - 1) / row;
    grid.flags = UnitGrid::Flags::kPerElement;
    grid.flag_count = row * std::min(rows_for_long, tensor.numel / row);
  }
  return grid;
}

template <typename T>
T round_epsilon(double epsilon) {
  const T rounded = static_cast<T>(epsilon);
  return rounded > epsilon ? std::nextafter(rounded, -std::numeric_limits<T>::infinity()) : rounded;
}

template <typename T>
UnitCounter<T>::UnitCounter(const UnitGrid& grid, T epsilon, T* flags, int64_t begin)
    : grid_(grid), epsilon_(epsilon), flags_(flags) {
  std::fill(flags, flags + grid.flag_count, T{0});
  if (begin == 0) return;
  if (grid.flags == UnitGrid::Flags::kPerElement) flag_ = begin % grid.flag_count;
  if (grid.flags == UnitGrid::Flags::kPerUnit) {
    flag_ = begin / grid.inner % grid.units;
    in_run_ = begin % grid.inner;
  }
}

template <typename T>
void UnitCounter<T>::add(const T* x, int64_t n) {
  switch (grid_.flags) {
    case UnitGrid::Flags::kNone:
      active_ += kernels<T>().count_active(x, n, epsilon_);
      break;
    case UnitGrid::Flags::kPerElement:
      add_rows(x, n);
      break;
    case UnitGrid::Flags::kPerUnit:
      add_runs(x, n);
      break;
  }
}

template <typename T>
void UnitCounter<T>::add_rows(const T* x, int64_t n) {
  while (n > 0) {
    const int64_t part = std::min(n, grid_.flag_count - flag_);
    active_ += kernels<T>().flag_active(x, part, epsilon_, flags_ + flag_);
    flag_ += part;
    if (flag_ == grid_.flag_count) flag_ = 0;
    x += part;
    n -= part;
  }
}

template <typename T>
void UnitCounter<T>::add_runs(const T* x, int64_t n) {
  while (n > 0) {
    // The rest of a begun run, or a part of a run, else whole runs up to the last unit.
    const bool whole = in_run_ == 0 && n >= grid_.inner;
    const int64_t length = whole ? grid_.inner : std::min(n, grid_.inner - in_run_);
    const int64_t runs = whole ? std::min(n / grid_.inner, grid_.units - flag_) : 1;
    active_ += kernels<T>().flag_active_runs(x, length, runs, epsilon_, flags_ + flag_);
    in_run_ += length;
    if (whole || in_run_ == grid_.inner) {
      in_run_ = 0;
      flag_ += runs;
      if (flag_ == grid_.units) flag_ = 0;
    }
    x += length * runs;
    n -= length * runs;
  }
}

template <typename T>
int64_t count_dead(const UnitGrid& grid, int64_t active, T* flags, int64_t chunks) {
  if (grid.flags == UnitGrid::Flags::kNone) return grid.units - active;
  const int64_t inner = grid.flags == UnitGrid::Flags::kPerUnit ? 1 : grid.inner;
  const int64_t row = grid.units * inner;
  // From here on, any value above 0 is a set flag: add up those of the same element.
  for (int64_t at = row; at < chunks * grid.flag_count; at += row) {
    for (int64_t i = 0; i < row; ++i) flags[i] += flags[at + i];
  }
  if (inner == 1) return grid.units - kernels<T>().count_active(flags, grid.units, T{0});
  int64_t dead = 0;
  for (const T* unit = flags; unit != flags + row; unit += inner) {
    if (std::all_of(unit, unit + inner, [](T flag) { return flag == 0; })) ++dead;
  }
  return dead;
}

template double round_epsilon(double);
template float round_epsilon(double);
template class UnitCounter<float>;
template class UnitCounter<double>;
template int64_t count_dead(const UnitGrid&, int64_t, float*, int64_t);
template int64_t count_dead(const UnitGrid&, int64_t, double*, int64_t);

void Partial::append(const Partial& next) {
  add_sums(sums, next.sums);
  add_sums(sampled, next.sampled);
  nan_count += next.nan_count;
  inf_count += next.inf_count;
  minimum = std::min(minimum, next.minimum);
  maximum = std::max(maximum, next.maximum);
  active += next.active;
  samples.append(next.samples);
}

template <typename T>
Partial scan_chunk(const Plan<T>& plan, int64_t chunk) {
  const int64_t begin = chunk * kChunk;
  const int64_t end = std::min(begin + kChunk, plan.tensor.numel);
  const bool range_wanted = (plan.measures & LOUPE_MEASURE_EXTREMES) != 0;
  const bool activity_wanted = (plan.measures & LOUPE_MEASURE_ACTIVITY) != 0;
  const bool samples_wanted = (plan.measures & LOUPE_MEASURE_SAMPLES) != 0;
  constexpr uint32_t kOfNoSquares = LOUPE_MEASURE_EXTREMES | LOUPE_MEASURE_ACTIVITY | LOUPE_MEASURE_HISTOGRAM;
  const bool squares_wanted = (plan.measures & ~kOfNoSquares) != 0;
  const bool bins_wanted = (plan.measures & LOUPE_MEASURE_HISTOGRAM) != 0;

  Partial partial;
  ElementReader<T> reader(plan.tensor, plan.dense, begin);
  UnitCounter<T> units(plan.units, plan.epsilon, plan.flags + chunk * plan.units.flag_count, begin);
  if (samples_wanted) partial.samples = SampleNorms(plan.sample_length, begin);
  uint64_t* slots = bins_wanted ? plan.slots + chunk * kHistogramSlots : nullptr;
  if (bins_wanted) std::fill(slots, slots + kHistogramSlots, uint64_t{0});

  static_assert(kBlock<T> % Sample::kRun == 0 && kChunk % Sample::kRun == 0, "a run must lie within a block");
  const unsigned terms = plan.sample != nullptr ? unsigned{kOwnTerms} : plan.terms;
  int64_t run = plan.sample != nullptr ? plan.sample->first_run_from(begin) : 0;

  // Memory is read once for each block, by the first scan; the others find it in the cache.
  for (int64_t at = begin; at < end; at += kBlock<T>) {
    const int64_t n = std::min(kBlock<T>, end - at);
    const T* x = reader.next(n);
    const bool compares = plan.sample == nullptr;
    const T* last = compares && plan.last != nullptr ? plan.last + at : nullptr;
    const T* older = compares && plan.older != nullptr ? plan.older + at : nullptr;
    Sums sums;
    bool careful = plan.careful;
    if (!careful) {
      sums = kernels<T>().sum_block(terms, x, last, older, n);
      careful = !trustworthy(sums, terms, squares_wanted, x, last, n);
    }
    if (careful) {
      const CarefulSums<T> result = sum_carefully(terms, x, last, older, n);
      sums = result.sums;
      partial.nan_count += result.nan_count;
      partial.inf_count += result.inf_count;
      add_range(partial, result.range);
    } else if (range_wanted) {
      add_range(partial, kernels<T>().find_range(x, n));
    }
    add_sums(partial.sums, sums);
    if (activity_wanted) units.add(x, n);
    if (samples_wanted) partial.samples.add(x, n, sums, careful);
    if (bins_wanted) count_magnitudes(x, n, slots);
    if (!compares) {
      add_sums(partial.sampled, compare_runs(plan, x, at, n, run));
    } else if (plan.keep != nullptr) {
      std::memcpy(plan.keep + at, x, static_cast<size_t>(n) * sizeof(T));
    }
  }
  partial.active = units.active();
  return partial;
}

template Partial scan_chunk(const Plan<float>&, int64_t);
template Partial scan_chunk(const Plan<double>&, int64_t);

}  // namespace loupe::measure
