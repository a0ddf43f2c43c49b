#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace loupe::html {

// How the page holds what the run says: words as JSON, numbers packed (packed_series.h).

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

/// One character of base64 for a number from 0 to 63.
char base64_digit(std::uint32_t six_bits);

}  // namespace loupe::html
