#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

namespace loupe {
inline namespace v1_0 {

/// The number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b` (optimal string
/// alignment).
inline std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

/// Whether one is a prefix of the other, like 'dir' of 'directory'.
inline bool begins_alike(const std::string& a, const std::string& b) {
  const std::size_t common = std::min(a.size(), b.size());
  return common >= 3 && a.compare(0, common, b, 0, common) == 0;
}

/// The known name that `name` may be a misspelling of, with at most a third of its letters different; "" if there is
/// none.
inline std::string nearest(const std::string& name, const std::vector<std::string>& known) {
  constexpr std::size_t longest = 100;  // no name is longer, and the distance costs the product of both lengths
  std::string found;
  std::size_t least = longest;
  for (const std::string& each : known) {
    const std::size_t length = std::max(name.size(), each.size());
    if (length > longest) continue;
    const std::size_t distance = edit_distance(name, each);
    const bool near = distance < std::min(name.size(), each.size()) && distance <= (length + 1) / 3;
    if (distance >= least || !(near || begins_alike(name, each))) continue;
    least = distance;
    found = each;
  }
  return found;
}

}  // namespace v1_0
}  // namespace loupe
