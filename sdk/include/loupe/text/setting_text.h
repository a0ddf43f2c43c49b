#pragma once

#include <loupe/abi.h>
#include <loupe/text/number_text.h>

#include <string>

namespace loupe {
inline namespace v1_0 {

/// A setting as people write it: "0.001", "true", "flip, crop".
inline std::string setting_text(const loupe_option_value& value) {
  switch (value.type) {
    case LOUPE_TYPE_BOOLEAN:
      return value.integer != 0 ? "true" : "false";
    case LOUPE_TYPE_INTEGER:
      return std::to_string(value.integer);
    case LOUPE_TYPE_NUMBER:
      return number_text(value.number);
    case LOUPE_TYPE_STRING:
      return value.string != nullptr ? value.string : "";
    default:
      std::string all;
      for (std::size_t i = 0; i < value.string_count; ++i) all += (i == 0 ? "" : ", ") + std::string(value.strings[i]);
      return all;
  }
}

}  // namespace v1_0
}  // namespace loupe
