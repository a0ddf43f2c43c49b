#ifndef LOUPE_UTF8_H
#define LOUPE_UTF8_H

#include <cstddef>
#include <string>
#include <string_view>

namespace loupe {

/// The bytes that the well-formed UTF-8 character at the text's start takes (Unicode 15, table 3-7); 0 where there is
/// none.
inline std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto within = [&](std::size_t i, unsigned low, unsigned high) { return byte(i) >= low && byte(i) <= high; };
  const auto continues = [&](std::size_t i) { return within(i, 0x80, 0xBF); };
  if (text.empty()) return 0;
  if (byte(0) < 0x80) return 1;
  if (within(0, 0xC2, 0xDF)) return continues(1) ? 2 : 0;
  if (within(0, 0xE0, 0xEF)) {
    const unsigned low = byte(0) == 0xE0 ? 0xA0 : 0x80, high = byte(0) == 0xED ? 0x9F : 0xBF;
    return within(1, low, high) && continues(2) ? 3 : 0;
  }
  if (within(0, 0xF0, 0xF4)) {
    const unsigned low = byte(0) == 0xF0 ? 0x90 : 0x80, high = byte(0) == 0xF4 ? 0x8F : 0xBF;
    return within(1, low, high) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

/// The text with U+FFFD for each byte that is no UTF-8: names from a model may hold anything.
inline std::string valid_utf8(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    valid += length > 0 ? text.substr(0, length) : "\xEF\xBF\xBD";
    text.remove_prefix(length > 0 ? length : 1);
  }
  return valid;
}

/// The text as a terminal may show it: valid UTF-8, and "?" for each control character but the line end and the tab, so
/// that no name steers the terminal.
inline std::string printable(std::string_view text) {
  const std::string valid = valid_utf8(text);
  std::string shown;
  for (std::size_t at = 0, length = 0; at < valid.size(); at += length) {
    const std::string_view letter(valid.data() + at, length = utf8_length(std::string_view(valid).substr(at)));
    const auto first = static_cast<unsigned char>(letter[0]);
    const bool keeps = letter == "\n" || letter == "\t";
    const bool controls =
        first < 0x20 || first == 0x7F || (first == 0xC2 && static_cast<unsigned char>(letter[1]) < 0xA0);
    shown += controls && !keeps ? "?" : letter;
  }
  return shown;
}

}  // namespace loupe

#endif
