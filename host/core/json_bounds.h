#pragma once

#include <string_view>

namespace loupe {

/// Throws Error for JSON whose tree would take a hundred times the memory of its text, or as much time: one that is
/// deeper, or has more values, or more members in one object, than any file that Loupe writes. What is no JSON passes.
void check_json_bounds(std::string_view text);

/// Json::parse() within these bounds.
template <class Json, class... Arguments>
Json parse_bounded(std::string_view text, Arguments&&... arguments) {
  check_json_bounds(text);
  return Json::parse(text, arguments...);
}

}  // namespace loupe
