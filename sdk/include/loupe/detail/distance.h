#pragma once

#include <loupe/finding.h>

#include <cmath>

namespace loupe {
inline namespace v1_0 {
namespace detail {

/// How far a finding's value lies beyond its threshold, on either side: of two findings of one rule the farther one is
/// the worse. 0 where it has none.
inline double distance_beyond(double value, double threshold) {
  if (!std::isfinite(threshold)) return 0;
  if (!std::isfinite(value)) return INFINITY;
  if (value == 0 && threshold > 0) return INFINITY;
  const bool is_ratio = value > 0 && threshold > 0;
  return is_ratio ? std::abs(std::log(value / threshold)) : std::abs(value - threshold);
}
inline double distance_beyond(const loupe_finding& told) {
  return distance_beyond(value_of(told).value_or(NAN), threshold_of(told).value_or(NAN));
}

}  // namespace detail
}  // namespace v1_0
}  // namespace loupe
