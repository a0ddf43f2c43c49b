#pragma once

#include <loupe/text/number_text.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace loupe {
inline namespace v1_0 {

/// A text as a string of JSON. It is UTF-8, as all texts of the host are.
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

}  // namespace v1_0
}  // namespace loupe
