#include "html/page_text.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace loupe::html {

namespace {

constexpr std::uint32_t LARGEST = 0x7f7fff, NOT_A_NUMBER = 0x7fc000, INFINITE = 0x7f8000, SIGN = 0x800000;
// The NaN with every bit set stands for "no value"; bits_of() never makes it.
constexpr const char* MISSING = "f///";

std::uint32_t bits_of(double value) {
  if (std::isnan(value)) return NOT_A_NUMBER;
  const std::uint32_t sign = std::signbit(value) ? SIGN : 0;
  if (std::isinf(value)) return sign | INFINITE;
  const double magnitude = std::fabs(value);
  if (magnitude >= static_cast<double>(std::numeric_limits<float>::max())) return sign | LARGEST;
  const auto single = static_cast<float>(magnitude);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &single, sizeof bits);
  const std::uint32_t rounded = (bits + 0x7f + ((bits >> 8) & 1)) >> 8;
  return sign | (rounded > LARGEST ? LARGEST : rounded);
}

}  // namespace

std::string page_json(const Json& json) {
  // ASCII also keeps the browser's copy of the data at one byte a character. In JSON, '<' occurs in strings only, so
  // escaping every one of them leaves the document's meaning alone and no "</script>" or "<!--" in it.
  std::string text;
  for (const char c : json.dump(-1, ' ', true, Json::error_handler_t::replace)) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

std::string page_document(const std::string& document) {
  const Json json = Json::parse(document, nullptr, false);
  return page_json(json.is_discarded() ? Json(document) : json);
}

char base64_digit(std::uint32_t six_bits) {
  return "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[six_bits & 63];
}

void put_packed(std::string& text, std::size_t index, double value) {
  while (text.size() <= index * PACKED_SIZE) text += MISSING;
  const std::uint32_t bits = bits_of(value);
  for (std::size_t i = 0; i < PACKED_SIZE; ++i) text[index * PACKED_SIZE + i] = base64_digit(bits >> (18 - 6 * i));
}

}  // namespace loupe::html
