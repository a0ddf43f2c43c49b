#ifndef LOUPE_HTML_PACKING_H
#define LOUPE_HTML_PACKING_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace loupe::html {

// A report holds millions of numbers, so each takes four characters whatever its value: a float of 1 sign, 8 exponent
// and 15 mantissa bits (5 significant digits), written as big-endian base64. data.js reads it back.

constexpr std::size_t PACKED_SIZE = 4;

/// Appends `value`; NaN and infinities stay what they are, a finite value beyond the range becomes the largest.
void append_packed(std::string& text, double value);
/// Puts `value` at the `index`-th place of `text`, which is padded with "nothing was told" up to there.
void put_packed(std::string& text, std::size_t index, double value);

/// One character of base64 for a number from 0 to 63.
char base64_digit(std::uint32_t six_bits);

}  // namespace loupe::html

#endif
