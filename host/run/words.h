#pragma once

#include <cstdlib>
#include <cstring>

// What the preloaded library needs of texts, with C's library alone.
namespace loupe {

inline bool is_set(const char* variable, const char* value) {
  const char* text = std::getenv(variable);
  return text != nullptr && std::strcmp(text, value) == 0;
}

/// Puts "?" in the place of each control character: the names of files, and what the loader says of them, may hold
/// some, which would steer a terminal.
inline void make_printable(char* text) {
  for (; *text != '\0'; ++text) {
    const auto letter = static_cast<unsigned char>(*text), next = static_cast<unsigned char>(text[1]);
    if (letter == 0xc2 && next >= 0x80 && next < 0xa0) text[0] = text[1] = '?';
    if (letter < 0x20 || letter == 0x7f) *text = '?';
  }
}

}  // namespace loupe
