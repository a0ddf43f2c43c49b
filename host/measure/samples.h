#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "measure/careful.h"
#include "measure/kernels.h"

namespace loupe::measure {

/// Adds up the L2 norms of a tensor's samples, which lie one after the other in the order it is read. A chunk may begin
/// and end within a sample, so it keeps the squares of its first and last one apart until chunks are put together.
class SampleNorms {
 public:
  /// `length` elements a sample; the chunk begins with element `begin` of the tensor.
  SampleNorms(int64_t length, int64_t begin) : length_(length), left_(length > 0 ? length - begin % length : 0) {}

  /// `sums` are those of the whole block; `careful` says that the kernels cannot be relied on for it.
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

  /// Goes on where this chunk ended.
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

  /// The sum of the norms of all samples, once the last chunk is in.
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
  double first_squares_ = 0;  // of the sample that the chunk begins with
  double open_squares_ = 0;   // of the current one
  double norms_ = 0;          // of those between
};

}  // namespace loupe::measure
