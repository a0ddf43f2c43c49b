#pragma once

#include <cstdint>

#include "core/shared.h"

namespace loupe::measure {

/// The bins of loupe_measurement: 80 of negative magnitudes, a factor of 2 each, from large to small ones, one of zeros
/// and subnormals, and 80 of positive magnitudes from small to large ones.
inline constexpr int kHistogramBins = 161;
/// The counts: the bins, followed by one for non-finite values.
inline constexpr int kHistogramSlots = kHistogramBins + 1;

/// The kHistogramBins + 1 edges of the bins, ascending, infinite at both ends. Valid for the whole process.
LOUPE_SHARED const double* histogram_edges();

/// Adds `n` elements to kHistogramSlots counts. T is float or double.
template <typename T>
void count_magnitudes(const T* x, int64_t n, uint64_t* slots);

}  // namespace loupe::measure
