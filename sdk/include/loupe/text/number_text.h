#pragma once

#include <charconv>
#include <cmath>
#include <string>

namespace loupe {
inline namespace v1_0 {

/// The name of a number that JSON and most readers have no digits for, as pandas, JavaScript and R read it; null for a
/// finite one.
inline const char* non_finite_name(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return nullptr;
}

/// Adds the shortest text that reads back as the same number, whatever the locale.
inline void append_number(std::string& to, double value) {
  if (const char* name = non_finite_name(value)) {
    to += name;
    return;
  }
  char text[32];
  to.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

/// The same as a text of its own.
inline std::string number_text(double value) {
  std::string text;
  append_number(text, value);
  return text;
}

/// Rounded to so many digits for people to read: "0.0012", "3.4e-05". Not by printf, which follows the locale.
inline std::string rounded_text(double value, int digits = 3) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::general, digits).ptr};
}

}  // namespace v1_0
}  // namespace loupe
