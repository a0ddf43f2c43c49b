#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace loupe {

/// The squared length of the gradient without noise, and the noise of one small batch: the trace of its covariance.
struct Estimate {
  double gradient = 0, noise = 0;
};

/// The sum of the gradients of n batches has the squared norm n^2 |G|^2 + n T on average. Divided by n this is a line
/// with slope |G|^2 and value T at 0, which is fitted here.
/// @param squares  mean squared norms, after one pass, two passes, …
inline std::optional<Estimate> from_passes(const std::vector<double>& squares) {
  const std::size_t passes = squares.size();
  if (passes < 2) return std::nullopt;
  double x_mean = 0, y_mean = 0, xx = 0, xy = 0;
  const auto y = [&](std::size_t i) { return squares[i] / static_cast<double>(i + 1); };
  for (std::size_t i = 0; i < passes; ++i) {
    x_mean += static_cast<double>(i + 1) / static_cast<double>(passes);
    y_mean += y(i) / static_cast<double>(passes);
  }
  for (std::size_t i = 0; i < passes; ++i) {
    const double x = static_cast<double>(i + 1) - x_mean;
    xx += x * x;
    xy += x * (y(i) - y_mean);
  }
  const double slope = xy / xx;
  return Estimate{slope, y_mean - slope * x_mean};
}

/// With several ranks, the squared norm of each rank's gradient is |G|^2 + T on average, and of their mean |G|^2 + T/n.
/// If `common` is larger than `own`, it is of the sum, so divide it by n^2.
inline std::optional<Estimate> from_ranks(double own, double common, double ranks) {
  if (ranks < 2) return std::nullopt;
  if (common > own) common /= ranks * ranks;
  const double noise = (own - common) / (1 - 1 / ranks);
  return Estimate{own - noise, noise};
}

}  // namespace loupe
