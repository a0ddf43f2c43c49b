#pragma once

#include <cstdint>
#include <limits>

#include "loupe/abi.h"
#include "measure/sample.h"
#include "measure/samples.h"
#include "measure/units.h"

namespace loupe::measure {

/// Elements that one thread takes at a time. Results are put together chunk by chunk, in order, so that they are the
/// same however many threads there are.
inline constexpr int64_t kChunk = int64_t{1} << 17;

/// What to do with a tensor in one pass, the same for all of its chunks.
template <typename T>
struct Plan {
  const loupe_tensor& tensor;
  bool dense = false;  // read in memory order
  uint32_t measures = 0;
  unsigned terms = kOwnTerms;
  bool careful = false;  // do not even try the kernels' sums
  const T* last = nullptr;
  const T* older = nullptr;
  T* keep = nullptr;               // where the elements are written to; may be `last` or `older`; null for nowhere
  const Sample* sample = nullptr;  // which elements last, older and keep have; null for all
  UnitGrid units = {};
  T epsilon = 0;
  T* flags = nullptr;  // units.flag_count for each chunk
  int64_t sample_length = 0;
  uint64_t* slots = nullptr;  // kHistogramSlots for each chunk
};

/// What came out of a chunk, or of several.
struct Partial {
  Sums sums;     // of a plan with a sample: of all elements what needs no other, and nothing else
  Sums sampled;  // of a sample's elements
  int64_t nan_count = 0;
  int64_t inf_count = 0;
  double minimum = std::numeric_limits<double>::infinity();
  double maximum = -std::numeric_limits<double>::infinity();
  int64_t active = 0;
  SampleNorms samples{0, 0};

  /// Adds the chunk after those that are in.
  void append(const Partial& next);
};

/// Measures one chunk; different chunks of a plan may be scanned at the same time.
template <typename T>
Partial scan_chunk(const Plan<T>& plan, int64_t chunk);

}  // namespace loupe::measure
