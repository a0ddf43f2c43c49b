#pragma once

namespace loupe {

/// No epoch, step or other count of a run is larger: a double, which is all that a browser has, counts as far as this.
constexpr double largest_count = 9007199254740992;
/// Nor is any time later, in seconds since 1970: a year has four digits in a time's text.
constexpr double latest_time = 253402300799;
/// No run has more processes: tables and loops over ranks have an end, whatever a file or a variable says.
constexpr int most_ranks = 1 << 20;

}  // namespace loupe
