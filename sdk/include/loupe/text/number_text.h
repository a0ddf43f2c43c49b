#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

namespace loupe {
inline namespace v1_0 {

/// The name of a non-finite number, as pandas, JavaScript and R read it; null for a finite one.
inline const char* non_finite_name(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return nullptr;
}

/// Appends the shortest text that reads back as the same number, in any locale.
inline void append_number(std::string& to, double value) {
  if (const char* name = non_finite_name(value)) {
    to += name;
    return;
  }
  char text[32];
  to.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

/// The same as a new text.
inline std::string number_text(double value) {
  std::string text;
  append_number(text, value);
  return text;
}

/// A number rounded for people to read: "0.0012", "3.4e-05". It does not use printf, which follows the locale.
inline std::string rounded_text(double value, int digits = 3) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::general, digits).ptr};
}

/// A text as a string of JSON. It must be UTF-8, like all texts of the host.
inline std::string json_text(std::string_view text) {
  std::string json = "\"";
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte == '"' || byte == '\\') json += '\\';
    if (byte >= 0x20 && byte != 0x7f) {
      json += letter;
      continue;
    }
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\u%04x", byte);
    json += escape;
  }
  return json + '"';
}

/// A number that reads back as the same one; those that JSON lacks are the strings "NaN", "Infinity", "-Infinity".
inline std::string json_number(double value) {
  const char* name = non_finite_name(value);
  return name != nullptr ? json_text(name) : number_text(value);
}

/// A duration of 1 s and more in seconds, else in milliseconds, for people to read: "0.26 ms", "120 ms", "2.1 s".
inline std::string duration_text(double seconds) {
  const bool is_long = seconds >= 1;
  const double number = is_long ? seconds : 1e3 * seconds;
  return (number >= 99.5 ? std::to_string(std::lround(number)) : rounded_text(number, 2)) + (is_long ? " s" : " ms");
}

/// A time in seconds since 1970, such as loupe_moment.time, as ISO 8601 in UTC: "2024-05-01T12:00:00Z".
inline std::string utc_text(double time) {
  const auto seconds = static_cast<std::time_t>(time);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

namespace detail {

/// "rank 1", "ranks 1 and 3", "ranks 1, 2, 3, 4 and 12 more": a run may have thousands.
inline std::string list_of_ranks(std::vector<int> ranks) {
  constexpr std::size_t most = 4;
  std::sort(ranks.begin(), ranks.end());
  std::string list = ranks.size() == 1 ? "rank " : "ranks ";
  const std::size_t shown = ranks.size() <= most + 1 ? ranks.size() : most;
  for (std::size_t i = 0; i < shown; ++i) {
    const bool is_last = i + 1 == ranks.size() && i > 0;
    list += (i == 0 ? "" : is_last ? " and " : ", ") + std::to_string(ranks[i]);
  }
  return shown == ranks.size() ? list : list + " and " + std::to_string(ranks.size() - shown) + " more";
}

}  // namespace detail

}  // namespace v1_0
}  // namespace loupe
