#pragma once

#include <cstddef>
#include <vector>

namespace loupe::health {

/// Where a training loss stands beside its start and its best. `falls` also in the first epochs.
enum class Trend { unknown, falls, stays };

/// An epoch's losses in at most 128 values, each the mean of as many losses as the epoch's length needs.
class LossCurve {
 public:
  void add(double loss);
  const std::vector<double>& values() const { return values_; }

 private:
  std::vector<double> values_;
  std::size_t losses_a_value_ = 1, losses_in_sum_ = 0;
  double sum_ = 0;
};

/// How often a curve turns between rising and falling, single outliers apart: each swing is at least a fifth of the
/// curve's mean, and `noise_factor` times its mean change from one value to the next. 0 for fewer than 32 values.
std::size_t count_turns(const std::vector<double>& curve, double noise_factor);

/// Pearson's correlation of two curves of the same length, each smoothed and without its linear trend; 0 for curves
/// that differ in length or have fewer than 16 values.
double correlation(const std::vector<double>& first, const std::vector<double>& second);

}  // namespace loupe::health
