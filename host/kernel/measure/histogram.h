#pragma once

#include <cstdint>

#include "core/shared.h"

namespace loupe::measure {

/// The bins of loupe_measurement: 80 of negative magnitudes, a factor of 2 each, from large to small ones, one of zeros
/// and what is too small for a normal float, and 80 of positive magnitudes from small to large ones.
inline constexpr int kHistogramBins = 161;
/// What is counted: the bins, and behind them what is not finite.
inline constexpr int kHistogramSlots = kHistogramBins + 1;

/// The kHistogramBins + 1 edges of the bins, ascending, infinite at both ends. For good.
LOUPE_SHARED const double* histogram_edges();

/// Adds `n` elements to kHistogramSlots counts. T is float or double.
template <typename T>
void count_magnitudes(const T* x, int64_t n, uint64_t* slots);

}  // namespace loupe::measure
