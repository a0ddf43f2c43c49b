#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "measure/history.h"

namespace loupe::measure {

/// Runs `body(context, b, e)` over parts [b, e) that together are [begin, end), each at least `grain` long except the
/// last, perhaps in parallel, and returns when all are done.
using ParallelBody = void (*)(void* context, int64_t begin, int64_t end);
using ParallelFor = void (*)(int64_t begin, int64_t end, int64_t grain, ParallelBody body, void* context);

/// The measures, one row each. tests/measure/reference.cpp also has a row for each, and reports missing ones.
struct Measure {
  uint32_t bit, implied;
};
inline constexpr Measure kMeasures[] = {{LOUPE_MEASURE_SUMS, 0},
                                        {LOUPE_MEASURE_EXTREMES, 0},
                                        {LOUPE_MEASURE_ACTIVITY, 0},
                                        {LOUPE_MEASURE_SAMPLES, 0},
                                        {LOUPE_MEASURE_PREVIOUS, LOUPE_MEASURE_SUMS},
                                        {LOUPE_MEASURE_CHANGE, 0},
                                        {LOUPE_MEASURE_CHANGE_PREVIOUS, LOUPE_MEASURE_CHANGE},
                                        {LOUPE_MEASURE_HISTOGRAM, 0}};

/// The supported measures among these bits, and those that they imply.
constexpr uint32_t measured_with(uint32_t measures) {
  uint32_t all = 0;
  for (const Measure& each : kMeasures) {
    if ((measures & each.bit) != 0) all |= each.bit | each.implied;
  }
  return all;
}
inline constexpr uint32_t kEveryMeasure = measured_with(~uint32_t{0});

/// The measurements of one stream of tensors: all requested ones, in one pass over each tensor.
///
/// Calls on one instance must not overlap; different instances are independent. `measure` and `prime` take CPU memory
/// of any Dtype, of at most kMaxDimensions dimensions, with any strides. Other tensors are not measured: the
/// measurement then has measures = 0, and the history is forgotten.
class Measurer {
 public:
  static constexpr int64_t kMaxDimensions = 64;
  static constexpr int64_t kWholeHistory = std::numeric_limits<int64_t>::max();

  /// @param history  the most elements compared with earlier events; of a larger tensor, a sample of this size
  explicit Measurer(const loupe_request& request, int64_t history = kWholeHistory);

  /// Whether `request` can be served by the same pass: if both count units, it must be along the same dimension and
  /// with the same epsilon.
  bool accepts(const loupe_request& request) const;

  /// Also measures for `request`, which `accepts` must have accepted.
  void merge(const loupe_request& request);

  /// Measures only `measures` from now on, of all merged ones. Returns whether this starts comparing events: earlier
  /// ones were not kept, and the history is forgotten.
  bool restrict_to(uint32_t measures);

  /// Takes `tensor` as the last value without measuring it, and forgets earlier values: the next event has a change but
  /// no previous event. Throws std::bad_alloc, as measure does.
  void prime(const loupe_tensor& tensor);

  /// Measures an event. For a tensor above `history` elements, comparisons with earlier events (dot_previous,
  /// change_sum_squares, dot_change) are estimated from a sample and flagged; norms of changes are then off by about
  /// 0.5 sqrt((k - 1) / n) of themselves, of n elements and their kurtosis k (3: normal), correlations by (1 - r^2) /
  /// sqrt(n). The memory behind the result is valid until the next call. Allocates only if the tensor is larger than
  /// all before it, or has its dimensions in a different order in memory than the last one.
  loupe_measurement measure(const loupe_tensor& tensor);

  /// The next event is compared with nothing.
  void forget_history();

  /// Lends threads for large tensors; null for none. The numbers measured do not depend on it. Any thread.
  static void set_parallel_for(ParallelFor parallel_for);

  /// The memory held, this object included.
  size_t bytes() const;

 private:
  template <typename T>
  void measure_as(const loupe_tensor& tensor, bool dense, const Sample& sample, loupe_measurement& m);
  template <typename T>
  void prime_as(const loupe_tensor& tensor, bool dense, const Sample& sample);
  bool dense_enough(const loupe_tensor& tensor) const;
  bool wants(uint32_t measures) const { return (measures_ & measures) != 0; }
  int depth() const;

  uint32_t asked_ = 0;     // measures of all merged requests
  uint32_t measures_ = 0;  // the currently measured ones
  int32_t unit_dimension_ = 0;
  double epsilon_ = 0;

  int64_t most_kept_ = kWholeHistory;
  bool last_is_event_ = false;  // the last value is an event, not a primed value
  double last_sum_squares_ = 0;
  double last_sampled_squares_ = 0;
  double last_change_sum_squares_ = 0;
  History history_;

  Buffer flags_;                 // ACTIVITY: one set for each chunk
  Buffer partials_;              // results of several chunks
  std::vector<uint64_t> slots_;  // HISTOGRAM: one set for each chunk
};

}  // namespace loupe::measure
