// Rules about types of few bits.

#include <algorithm>
#include <cmath>

#include "health/rules/elements.h"
#include "health/rules/rule.h"

namespace loupe::health {
namespace {

/// The exponent of a number's lowest bit that is set.
int lowest_exponent(double value) {
  constexpr int digits = 53;
  int exponent = 0;
  const auto mantissa = static_cast<int64_t>(std::ldexp(std::frexp(std::abs(value), &exponent), digits));
  return exponent - digits + __builtin_ctzll(static_cast<unsigned long long>(mantissa));
}

/// Some elements of a gradient: how many are 0, and the grid of powers of 2 that all others lie on.
struct Grid {
  int64_t seen = 0, zeros = 0;
  int exponent = 1024;
  double smallest = INFINITY, largest = 0;

  explicit Grid(const Elements& gradient) {
    constexpr int64_t most_looked_at = 256;
    if (!gradient.readable()) return;
    gradient.sample(most_looked_at, [&](int64_t place) {
      const double value = std::abs(gradient.at(place));
      if (!std::isfinite(value)) return;
      ++seen;
      if (value == 0) {
        ++zeros;
        return;
      }
      exponent = std::min(exponent, lowest_exponent(value));
      smallest = std::min(smallest, value);
      largest = std::max(largest, value);
    });
  }
  double zero_share() const { return static_cast<double>(zeros) / static_cast<double>(seen); }
  /// Whether what is smaller than the smallest number of float16 became 0: all are multiples of that, or of a part of
  /// it, as where a scaled loss's gradients were divided by the scale, and reach down to it.
  bool underflows() const {
    constexpr int64_t fewest = 2;
    constexpr int of_float16 = -24, largest_scale = 32, few_bits = 4;
    if (seen - zeros < fewest || exponent > of_float16 || exponent < of_float16 - largest_scale) return false;
    return smallest < std::ldexp(1.0, exponent + few_bits);
  }
};

}  // namespace

void judge_underflow(const Judge& judge, const Moment& moment) {
  constexpr double half = 0.5;
  for (const ParameterState& each : moment.model->parameters) {
    if (!each.is_matrix() || each.gradient_count == 0) continue;
    judge.host.lend_parameter(each.module, each.name.c_str(), true, [&](const loupe_tensor& tensor) {
      const Grid grid{Elements(&tensor)};
      if (!grid.underflows() || grid.zero_share() < half) return;
      Observation seen;
      seen.module = each.module;
      seen.parameter = each.name;
      seen.value = grid.zero_share();
      seen.threshold = half;
      seen.tag = "Gradient Norm";
      seen.message = percent(seen.value) + " of the gradient of " + shown(each) + " are 0, and the others, up to " +
                     number(grid.largest) + ", are multiples of " + number(std::ldexp(1.0, grid.exponent)) +
                     ": what float16 computes is too small for it, and becomes 0";
      seen.advice =
          "compute in bfloat16, which has the range of float; or keep the parameters in float, multiply the loss by a "
          "scale before backward(), such as 65536, and divide the gradients by it before the step";
      judge.see(seen);
    });
  }
}

}  // namespace loupe::health
