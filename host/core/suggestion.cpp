#include "core/suggestion.h"

#include <algorithm>
#include <numeric>

namespace loupe {
namespace {

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b` (optimal string alignment).
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), 0);
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

}  // namespace

std::string suggestion(const std::string& name, const std::vector<std::string>& known) {
  if (known.empty()) return "; there are none";
  const auto nearest = std::min_element(known.begin(), known.end(), [&](const auto& a, const auto& b) {
    return edit_distance(name, a) < edit_distance(name, b);
  });
  if (edit_distance(name, *nearest) <= std::max<std::size_t>(2, name.size() / 3))
    return "; did you mean '" + *nearest + "'?";
  std::string list;
  for (const std::string& each : known) list += (list.empty() ? "" : ", ") + each;
  return "; the nearest is '" + *nearest + "', known are: " + list;
}

}  // namespace loupe
