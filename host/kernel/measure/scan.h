#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "measure/history.h"

namespace loupe::measure {

/// Float squares below 1e-38 are lost. That is harmless with a mean square above this, but not if all are small.
inline constexpr double kSmallMeanSquare = 1e-30;

/// Whether the kernels' sums over a block are reliable: nothing was NaN, infinite or too large for T and, if squares
/// are requested, no nonzero element had a square too small for T.
template <typename T>
bool trustworthy(const Sums& sums, unsigned terms, bool squares_wanted, const T* x, const T* last, int64_t n);

template <typename T>
struct CarefulSums {
  Sums sums;  // over the finite elements, and the products with finite factors
  int64_t nan_count = 0;
  int64_t inf_count = 0;
  Range<T> range;  // over the finite elements
};

/// Computes the same as the kernels, in double; element by element, which is slow, if some are not finite. For blocks
/// that are not trustworthy.
template <typename T>
CarefulSums<T> sum_carefully(unsigned terms, const T* x, const T* last, const T* older, int64_t n);

/// Adds up the L2 norms of a tensor's samples, which are consecutive in reading order. A chunk may begin and end within
/// a sample, so it keeps the squares of its first and last one separate until chunks are joined.
class SampleNorms {
 public:
  /// `length` elements per sample; the chunk begins with element `begin` of the tensor.
  SampleNorms(int64_t length, int64_t begin) : length_(length), left_(length > 0 ? length - begin % length : 0) {}

  /// `sums` are those of the whole block; `careful`: the kernels are not reliable for it.
  template <typename T>
  void add(const T* x, int64_t n, const Sums& sums, bool careful) {
    int64_t at = 0;
    while (at < n) {
      const int64_t whole = left_ == length_ && first_ended_ && !careful ? (n - at) / length_ : 0;
      if (whole > 0) {
        norms_ += kernels<T>().sum_norms(x + at, length_, whole);
        at += whole * length_;
        continue;
      }
      const int64_t part = std::min(n - at, left_);
      open_squares_ += part == n ? sums.squares : squares(x + at, part, careful);
      at += part;
      left_ -= part;
      if (left_ == 0) end_sample();
    }
  }

  /// Appends the chunk that follows this one.
  void append(const SampleNorms& next) {
    if (!next.first_ended_) {
      open_squares_ += next.open_squares_;
      return;
    }
    open_squares_ += next.first_squares_;
    end_sample();
    norms_ += next.norms_;
    open_squares_ = next.open_squares_;
  }

  /// The sum of the norms of all samples, after the last chunk was added.
  double total() const { return norms_ + std::sqrt(first_squares_); }

 private:
  template <typename T>
  static double squares(const T* x, int64_t n, bool careful) {
    if (careful) return sum_carefully<T>(kOwnTerms, x, nullptr, nullptr, n).sums.squares;
    return kernels<T>().sum_block(kOwnTerms, x, nullptr, nullptr, n).squares;
  }

  void end_sample() {
    if (first_ended_) {
      norms_ += std::sqrt(open_squares_);
    } else {
      first_squares_ = open_squares_;
      first_ended_ = true;
    }
    open_squares_ = 0;
    left_ = length_;
  }

  int64_t length_;
  int64_t left_;  // elements until the current sample ends
  bool first_ended_ = false;
  double first_squares_ = 0;  // the squares of the chunk's first sample
  double open_squares_ = 0;   // the squares of the current sample
  double norms_ = 0;          // the norms of the samples in between
};

/// How a tensor's elements, in the order they are read, belong to units: as [outer, units, inner]. Each chunk of the
/// tensor marks active units in its own flags.
struct UnitGrid {
  enum class Flags {
    kNone,        // every element is a unit: counting is enough
    kPerElement,  // one for each of [units, inner], repeated to get long rows if that is short
    kPerUnit      // one flag for each unit, if `inner` is long
  };

  int64_t units = 0;
  int64_t inner = 1;
  Flags flags = Flags::kNone;
  int64_t flag_count = 0;  // the flags of one chunk
};

/// `unit_dimension` as in loupe_request; `dense`: the tensor is read in memory order.
UnitGrid unit_grid(const loupe_tensor& tensor, bool dense, int32_t unit_dimension);

/// The largest T not above epsilon, so comparing as T gives the same result as comparing as double.
template <typename T>
T round_epsilon(double epsilon);

/// Counts the active elements of one chunk and flags their units.
template <typename T>
class UnitCounter {
 public:
  /// `flags` are the chunk's flag_count, cleared here; the chunk begins with element `begin` of the tensor.
  UnitCounter(const UnitGrid& grid, T epsilon, T* flags, int64_t begin);
  void add(const T* x, int64_t n);
  int64_t active() const { return active_; }

 private:
  void add_rows(const T* x, int64_t n);
  void add_runs(const T* x, int64_t n);

  const UnitGrid& grid_;
  const T epsilon_;
  T* const flags_;
  int64_t active_ = 0;
  int64_t flag_ = 0;    // index of the next element's flag
  int64_t in_run_ = 0;  // kPerUnit: how far into its run it is
};

/// Units without an active element, from the consecutive flags of all chunks, which are overwritten.
template <typename T>
int64_t count_dead(const UnitGrid& grid, int64_t active, T* flags, int64_t chunks);

/// Elements that one thread takes at a time. Results are joined chunk by chunk, in order, so they are the same for any
/// number of threads.
inline constexpr int64_t kChunk = int64_t{1} << 17;

/// The measurement of a tensor in one pass, the same for all of its chunks.
template <typename T>
struct Plan {
  const loupe_tensor& tensor;
  bool dense = false;  // read in memory order
  uint32_t measures = 0;
  unsigned terms = kOwnTerms;
  bool careful = false;  // skip the kernels' sums
  const T* last = nullptr;
  const T* older = nullptr;
  T* keep = nullptr;               // where the elements are written to; may be `last` or `older`; null: not written
  const Sample* sample = nullptr;  // the elements in last, older and keep; null for all
  UnitGrid units = {};
  T epsilon = 0;
  T* flags = nullptr;  // units.flag_count for each chunk
  int64_t sample_length = 0;
  uint64_t* slots = nullptr;  // kHistogramSlots for each chunk
};

/// The result of one or several chunks.
struct Partial {
  Sums sums;     // for a plan with a sample: only the sums over all elements that need no earlier values
  Sums sampled;  // sums over a sample's elements
  int64_t nan_count = 0;
  int64_t inf_count = 0;
  double minimum = std::numeric_limits<double>::infinity();
  double maximum = -std::numeric_limits<double>::infinity();
  int64_t active = 0;
  SampleNorms samples{0, 0};

  /// Adds the next chunk.
  void append(const Partial& next);
};

/// Measures one chunk; different chunks of a plan may be scanned at the same time.
template <typename T>
Partial scan_chunk(const Plan<T>& plan, int64_t chunk);

}  // namespace loupe::measure
