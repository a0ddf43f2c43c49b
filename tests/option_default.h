#pragma once

#include <loupe/abi.h>

#include <charconv>
#include <string>

namespace loupe::test {

/// A declared default as YAML text; "" for a required option.
inline std::string default_text(const loupe_option& option) {
  if ((option.flags & LOUPE_OPTION_REQUIRED) != 0) return "";
  if (option.type == LOUPE_TYPE_MAP) return "{}";
  const loupe_option_value& value = *option.default_value;
  char number[32];
  std::string list;
  switch (option.type) {
    case LOUPE_TYPE_BOOLEAN:
      return value.integer != 0 ? "true" : "false";
    case LOUPE_TYPE_INTEGER:
      return std::to_string(value.integer);
    case LOUPE_TYPE_NUMBER:
      return {number, std::to_chars(number, number + sizeof number, value.number).ptr};
    case LOUPE_TYPE_STRING:
      return '"' + std::string(value.string) + '"';
    default:
      for (std::size_t i = 0; i < value.string_count; ++i)
        list += (i > 0 ? ", \"" : "\"") + std::string(value.strings[i]) + '"';
      return "[" + list + "]";
  }
}

}  // namespace loupe::test
