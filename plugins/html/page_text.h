#ifndef LOUPE_HTML_PAGE_TEXT_H
#define LOUPE_HTML_PAGE_TEXT_H

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace loupe::html {

// How the page holds what the run says: words as JSON, numbers packed.

using Json = nlohmann::ordered_json;

/// JSON that may stand inside an HTML script element: ASCII only, '<' escaped, bytes that are no UTF-8 replaced. NaN
/// and infinities become null.
std::string page_json(const Json& json);
/// The same of a JSON document; what is no JSON becomes a string.
std::string page_document(const std::string& document);
/// An array of what is JSON already.
template <class Documents>
std::string json_list(const Documents& documents) {
  std::string list = "[";
  for (const std::string& each : documents) {
    if (list.size() > 1) list += ',';
    list += each;
  }
  return list += ']';
}

// A report holds millions of numbers, so each takes four characters whatever its value: a float of 1 sign, 8 exponent
// and 15 mantissa bits (5 significant digits), written as big-endian base64. data.js reads it back.

constexpr std::size_t PACKED_SIZE = 4;

/// Puts `value` at the `index`-th place of `text`, which is padded with "no value" up to there. NaN and infinities stay
/// what they are; a finite value beyond the range becomes the largest.
void put_packed(std::string& text, std::size_t index, double value);

/// One character of base64 for a number from 0 to 63.
char base64_digit(std::uint32_t six_bits);

}  // namespace loupe::html

#endif
