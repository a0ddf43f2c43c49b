#include "console/parts.h"

#include <loupe/text/number_text.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace loupe::console {

std::string parts_in_a_line(const std::deque<Table>& tables) {
  const auto table = std::find_if(tables.begin(), tables.end(), [](const Table& each) {
    return each.style().relation && each.style().big && !each.style().unit.empty();
  });
  if (table == tables.end()) return "";
  std::vector<std::pair<double, std::string>> parts;
  double whole = 0;
  for (const Row& row : table->rows()) {
    const double part = row.cells[row.main()];
    if (!std::isfinite(part)) continue;
    parts.emplace_back(part, row.name);
    whole += part;
  }
  if (!(whole > 0)) return "";
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text = table->title() + " " +
                     (whole >= 99.5 ? std::to_string(std::lround(whole)) : rounded_text(whole, 2)) + " " +
                     table->style().unit;
  const char* before = ": ";
  for (const auto& [part, name] : parts) {
    const long percent = std::lround(100 * part / whole);
    if (percent == 0) break;
    text += std::exchange(before, ", ") + name + " " + std::to_string(percent) + " %";
  }
  return text;
}

}  // namespace loupe::console
