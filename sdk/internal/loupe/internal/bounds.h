#pragma once

// Limits of the numbers in Loupe's files. Only the host and the plugins of the same build include this.

#include <loupe/error.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace loupe {

/// The largest epoch, step or other count of a run: the largest whole number up to which a double, which browsers use,
/// is exact.
constexpr double largest_count = 9007199254740992;
/// The latest time, in seconds since 1970: years have four digits.
constexpr double latest_time = 253402300799;
/// The most processes of a run.
constexpr int most_ranks = 1 << 20;

/// Throws Error for JSON that is deeper, or has more values, or more members in one object, than any file that Loupe
/// writes: parsed, it could take a hundred times the memory of its text. Accepts text that is not JSON.
inline void check_json_bounds(std::string_view text) {
  constexpr std::size_t deepest = 100, most_values = 4'000'000, most_members = 1000;
  const auto fail = [](const char* what, std::size_t most) {
    throw Error("this is JSON with " + std::string(what) + " than " + std::to_string(most) +
                    ", which Loupe never writes; was the file changed by hand?",
                LOUPE_INVALID);
  };
  std::vector<std::size_t> members;  // the number of members of each open object and list
  std::size_t values = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (in_string && letter == '\\') {
      ++i;
    } else if (letter == '"') {
      in_string = !in_string;
    } else if (in_string) {
      continue;
    } else if (letter == '{' || letter == '[') {
      members.push_back(0);
      if (members.size() > deepest) fail("more levels", deepest);
      ++values;
    } else if (letter == '}' || letter == ']') {
      if (members.empty()) return;
      members.pop_back();
    } else if (letter == ':' && !members.empty()) {
      // Each member of an object has one colon; lists have no colons of their own.
      if (++members.back() > most_members) fail("more members in one object", most_members);
      ++values;
    } else if (letter == ',') {
      ++values;
    }
    if (values > most_values) fail("more values", most_values);
  }
}

/// Json::parse() within these bounds.
template <class Json, class... Arguments>
Json parse_bounded(std::string_view text, Arguments&&... arguments) {
  check_json_bounds(text);
  return Json::parse(text, arguments...);
}

}  // namespace loupe
