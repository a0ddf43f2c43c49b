#ifndef LOUPE_HISTOGRAMS_BINS_H
#define LOUPE_HISTOGRAMS_BINS_H

#include <loupe/abi.h>

#include <cmath>
#include <cstddef>
#include <vector>

namespace loupe {

// loupe_measurement.bins put in order: large negative magnitudes, small ones, zero, small positive ones, large ones.
constexpr std::size_t bins_per_sign = 80;
constexpr std::size_t ordered_bin_count = 2 * bins_per_sign + 1;
constexpr int smallest_exponent = -40;

/// The edges of the ordered bins. The middle bin, for zeros, reaches as far as the smallest magnitudes do that are
/// told apart; the outermost bins are open.
inline std::vector<double> ordered_edges() {
  std::vector<double> edges(ordered_bin_count + 1);
  for (std::size_t i = 0; i < bins_per_sign; ++i) {
    const double magnitude = std::ldexp(1.0, smallest_exponent + static_cast<int>(i));
    edges[bins_per_sign - i] = -magnitude;
    edges[bins_per_sign + 1 + i] = magnitude;
  }
  edges.front() = -INFINITY;
  edges.back() = INFINITY;
  return edges;
}

/// The counts of the ordered bins. Each sign's bins come from small magnitudes to large ones; NaN and Inf have none.
inline std::vector<double> ordered_counts(const std::vector<double>& bins) {
  std::vector<double> counts(ordered_bin_count);
  counts[bins_per_sign] = bins[0];
  for (std::size_t i = 0; i < bins_per_sign; ++i) {
    counts[bins_per_sign - 1 - i] = bins[1 + i];
    counts[bins_per_sign + 1 + i] = bins[1 + bins_per_sign + i];
  }
  return counts;
}

static_assert(ordered_bin_count + 1 == LOUPE_HISTOGRAM_BINS, "the last bin of a measurement is NaN and Inf");

}  // namespace loupe

#endif
