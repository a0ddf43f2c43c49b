#include "html/packing.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace loupe::html {

namespace {

constexpr std::uint32_t LARGEST = 0x7f7fff, NOT_A_NUMBER = 0x7fc000, SIGN = 0x800000;
// The NaN with every bit set stands for "nothing was told"; append_packed never makes it.
constexpr const char* MISSING = "f///";

std::uint32_t bits_of(double value) {
  if (std::isnan(value)) return NOT_A_NUMBER;
  const std::uint32_t sign = std::signbit(value) ? SIGN : 0;
  if (std::isinf(value)) return sign | 0x7f8000;
  const double magnitude = std::fabs(value);
  if (magnitude >= static_cast<double>(std::numeric_limits<float>::max())) return sign | LARGEST;
  const auto single = static_cast<float>(magnitude);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &single, sizeof bits);
  const std::uint32_t rounded = (bits + 0x7f + ((bits >> 8) & 1)) >> 8;
  return sign | (rounded > LARGEST ? LARGEST : rounded);
}

void encode(std::uint32_t bits, char* place) {
  for (std::size_t i = 0; i < PACKED_SIZE; ++i) place[i] = base64_digit((bits >> (18 - 6 * i)) & 63);
}

}  // namespace

char base64_digit(std::uint32_t six_bits) {
  return "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[six_bits & 63];
}

void append_packed(std::string& text, double value) {
  char place[PACKED_SIZE];
  encode(bits_of(value), place);
  text.append(place, PACKED_SIZE);
}

void put_packed(std::string& text, std::size_t index, double value) {
  while (text.size() < index * PACKED_SIZE) text += MISSING;
  if (text.size() == index * PACKED_SIZE) {
    append_packed(text, value);
  } else {
    encode(bits_of(value), &text[index * PACKED_SIZE]);
  }
}

}  // namespace loupe::html
