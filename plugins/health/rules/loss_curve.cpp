#include "health/rules/loss_curve.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace loupe::health {
namespace {

constexpr std::size_t most_values = 128;
constexpr std::size_t smoothed_over = 5;

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// By the median, since one bad batch makes no swing.
std::vector<double> smoothed(const std::vector<double>& curve) {
  std::vector<double> medians;
  std::array<double, smoothed_over> some = {};
  for (std::size_t i = 0; i + smoothed_over <= curve.size(); ++i) {
    std::copy_n(curve.begin() + static_cast<std::ptrdiff_t>(i), smoothed_over, some.begin());
    std::nth_element(some.begin(), some.begin() + smoothed_over / 2, some.end());
    medians.push_back(some[smoothed_over / 2]);
  }
  return medians;
}

std::vector<double> without_trend(std::vector<double> curve) {
  const double middle = static_cast<double>(curve.size() - 1) / 2, level = mean(curve);
  double product = 0, squares = 0;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const double x = static_cast<double>(i) - middle;
    product += x * (curve[i] - level);
    squares += x * x;
  }
  for (std::size_t i = 0; i < curve.size(); ++i)
    curve[i] -= level + product / squares * (static_cast<double>(i) - middle);
  return curve;
}

}  // namespace

void LossCurve::add(double loss) {
  sum_ += loss;
  if (++losses_in_sum_ < losses_a_value_) return;
  if (values_.size() == most_values) {
    for (std::size_t i = 0; i < most_values / 2; ++i) values_[i] = (values_[2 * i] + values_[2 * i + 1]) / 2;
    values_.resize(most_values / 2);
    losses_a_value_ *= 2;
    return;  // the sum goes on to hold as many
  }
  values_.push_back(sum_ / static_cast<double>(losses_in_sum_));
  sum_ = 0;
  losses_in_sum_ = 0;
}

std::size_t count_turns(const std::vector<double>& curve, double noise_factor) {
  constexpr std::size_t fewest = 32;
  constexpr double share_of_mean = 0.2;
  if (curve.size() < fewest) return 0;
  double changes = 0;
  for (std::size_t i = 1; i < curve.size(); ++i) changes += std::abs(curve[i] - curve[i - 1]);
  const double noise = changes / static_cast<double>(curve.size() - 1);
  const double swing = std::max(share_of_mean * std::abs(mean(curve)), noise_factor * noise);
  const std::vector<double> smooth = smoothed(curve);
  // Before the first swing either end of what came so far may be where it begins.
  double low = smooth.front(), high = smooth.front();
  bool rises = false, has_swung = false;
  std::size_t turns = 0;
  for (const double value : smooth) {
    low = std::min(low, value);
    high = std::max(high, value);
    const bool up = value - low > swing, down = high - value > swing;
    const bool turned = has_swung ? (rises ? down : up) : up || down;
    if (!turned) continue;
    turns += has_swung ? 1 : 0;
    rises = has_swung ? !rises : up;
    has_swung = true;
    low = high = value;
  }
  return turns;
}

double correlation(const std::vector<double>& first, const std::vector<double>& second) {
  constexpr std::size_t fewest = 16;
  if (first.size() != second.size() || first.size() < fewest) return 0;
  const std::vector<double> a = without_trend(smoothed(first)), b = without_trend(smoothed(second));
  const auto product = [](const std::vector<double>& x, const std::vector<double>& y) {
    return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
  };
  const double sizes = std::sqrt(product(a, a) * product(b, b));
  return sizes > 0 ? product(a, b) / sizes : 0;
}

}  // namespace loupe::health
