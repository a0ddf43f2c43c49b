#pragma once

#include <loupe/text/number_text.h>

#include <cmath>
#include <string>

namespace loupe {
inline namespace v1_0 {

/// A duration of 1 s and more in seconds, else in milliseconds, for people to read: "0.26 ms", "120 ms", "2.1 s".
inline std::string duration_text(double seconds) {
  const bool is_long = seconds >= 1;
  const double number = is_long ? seconds : 1e3 * seconds;
  return (number >= 99.5 ? std::to_string(std::lround(number)) : rounded_text(number, 2)) + (is_long ? " s" : " ms");
}

}  // namespace v1_0
}  // namespace loupe
