#ifndef LOUPE_HOST_MEASURE_HISTOGRAM_H
#define LOUPE_HOST_MEASURE_HISTOGRAM_H

#include <cstdint>

namespace loupe::measure {

/// Adds `n` elements to the LOUPE_HISTOGRAM_BINS counts of loupe_measurement.bins. T is float or double.
template <typename T>
void count_magnitudes(const T* x, int64_t n, uint64_t* bins);

}  // namespace loupe::measure

#endif
