#pragma once

#include <string_view>

namespace loupe {

/// The largest epoch, step or other count of a run: as far as a double counts, which is all that a browser has.
constexpr double largest_count = 9007199254740992;
/// The latest time, in seconds since 1970: a year has four digits.
constexpr double latest_time = 253402300799;
/// The most processes of a run, whatever a file or a variable says.
constexpr int most_ranks = 1 << 20;

/// Throws Error for JSON that is deeper, or has more values, or more members in one object, than any file that Loupe
/// writes: its tree could take a hundred times the memory of its text. Text that is not JSON passes.
void check_json_bounds(std::string_view text);

/// Json::parse() within these bounds.
template <class Json, class... Arguments>
Json parse_bounded(std::string_view text, Arguments&&... arguments) {
  check_json_bounds(text);
  return Json::parse(text, arguments...);
}

}  // namespace loupe
