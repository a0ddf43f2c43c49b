#include "core/utf8.h"

#include <utf8.h>

#include <algorithm>

namespace loupe {
namespace {

std::string without_controls(std::string_view text, std::u32string_view kept) {
  std::u32string letters = ::utf8::utf8to32(utf8(text));
  const auto controls = [&](char32_t letter) {
    return (letter < 0x20 || (letter >= 0x7F && letter < 0xA0)) && kept.find(letter) == kept.npos;
  };
  std::replace_if(letters.begin(), letters.end(), controls, U'?');
  return ::utf8::utf32to8(letters);
}

}  // namespace

std::string utf8(std::string_view text) {
  return ::utf8::replace_invalid(text);
}

std::string printable(std::string_view text) {
  return without_controls(text, U"\n\t");
}

std::string printable_line(std::string_view text) {
  return without_controls(text, U"");
}

}  // namespace loupe
