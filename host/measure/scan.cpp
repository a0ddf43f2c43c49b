#include "measure/scan.h"

#include <algorithm>
#include <cstring>

#include "measure/careful.h"
#include "measure/element_reader.h"
#include "measure/histogram.h"

namespace loupe::measure {
namespace {

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

/// Compares those runs of the sample that lie within the `n` elements from `at` on, which are `x`, and keeps them.
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

  // Memory is read once for each block, by whoever comes first; the others find it in the cache.
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
