#pragma once

#include <cstdint>

#include "measure/kernels.h"

namespace loupe::measure {

/// Float squares below 1e-38 are lost. That is harmless beside a mean square above this, but not where all are small.
inline constexpr double kSmallMeanSquare = 1e-30;

/// Whether what the kernels summed up over a block can be relied on: nothing was NaN, infinite or too large for T, and,
/// where squares are asked for, nothing that is not zero had squares too small for it.
template <typename T>
bool trustworthy(const Sums& sums, unsigned terms, bool squares_wanted, const T* x, const T* last, int64_t n);

template <typename T>
struct CarefulSums {
  Sums sums;  // of the finite elements; of those products that have finite factors
  int64_t nan_count = 0;
  int64_t inf_count = 0;
  Range<T> range;  // of the finite elements
};

/// What the kernels compute, in double; and one element after the other, which is slow, where some are not finite. For
/// blocks that are not trustworthy.
template <typename T>
CarefulSums<T> sum_carefully(unsigned terms, const T* x, const T* last, const T* older, int64_t n);

}  // namespace loupe::measure
