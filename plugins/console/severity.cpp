#include "console/severity.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>

namespace loupe::console {
namespace {

Severity graded(double badness, double notable, double alarming) {
  if (badness > alarming) return Severity::alarming;
  return badness > notable ? Severity::notable : Severity::calm;
}

Severity severity_of(std::uint32_t finding) {
  if (finding >= LOUPE_SEVERITY_ERROR) return Severity::alarming;
  return finding == LOUPE_SEVERITY_WARNING ? Severity::notable : Severity::calm;
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

// A band's half width says nothing by itself.
bool is_spread(const std::string& column) {
  return contains(column, "σ");
}

enum class Meaning { death, activation, other };

Meaning meaning(const Table& table, const Row& row, std::size_t column) {
  const std::string& name = table.style().big ? row.name : table.columns()[column];
  if (!table.style().probability) return Meaning::other;
  if (contains(name, "death")) return Meaning::death;
  return contains(name, "activation") ? Meaning::activation : Meaning::other;
}

}  // namespace

Severity Severities::of(std::size_t row_index, std::size_t column) const {
  const Row& row = table_.rows()[row_index];
  if (column >= row.cells.size() || !row.known[column]) return Severity::calm;
  const double value = row.cells[column];
  if (!std::isfinite(value)) return Severity::alarming;
  if (is_spread(table_.columns()[column])) return Severity::calm;
  Severity worst = column == row.main() ? severity_of(row.finding) : Severity::calm;
  switch (meaning(table_, row, column)) {
    case Meaning::death:
      return std::max(worst, graded(value, 0.2, 0.5));
    case Meaning::activation:
      return std::max(worst, graded(1 - value, 0.9, 0.98));
    case Meaning::other:
      break;
  }
  if (column == row.main() && !row.earlier.empty() && row.earlier.back() > 0 && !table_.style().probability) {
    worst = std::max(worst, graded(value / row.earlier.back(), 10, 1000));
  }
  return worst;
}

Severity Severities::worst_of(std::size_t row) const {
  Severity worst = Severity::calm;
  for (std::size_t column = 0; column < table_.columns().size(); ++column) worst = std::max(worst, of(row, column));
  return worst;
}

double Severities::score(std::size_t index) const {
  const Row& row = table_.rows()[index];
  double worst = -INFINITY;
  for (std::size_t column = 0; column < row.cells.size(); ++column) {
    if (!row.known[column]) continue;
    const double value = row.cells[column];
    if (!std::isfinite(value)) return INFINITY;
    const Meaning means = meaning(table_, row, column);
    if (means == Meaning::death) worst = std::max(worst, value);
    if (means == Meaning::activation) worst = std::max(worst, 1 - value);
  }
  return worst > -INFINITY ? worst : std::abs(row.cells[row.main()]);
}

std::vector<std::size_t> Severities::worst_first() const {
  const std::size_t count = table_.rows().size();
  std::vector<Severity> severities;
  std::vector<double> scores;
  for (std::size_t row = 0; row < count; ++row) {
    severities.push_back(worst_of(row));
    scores.push_back(score(row));
  }
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return severities[a] != severities[b] ? severities[a] > severities[b] : scores[a] > scores[b];
  });
  return order;
}

std::vector<std::size_t> Severities::over_the_model(std::size_t most) const {
  std::vector<std::size_t> shown, calm;
  for (const std::size_t row : worst_first()) {
    if (worst_of(row) == Severity::calm) {
      calm.push_back(row);
    } else if (shown.size() < most) {
      shown.push_back(row);
    }
  }
  std::sort(calm.begin(), calm.end());
  const std::size_t free = std::min(most - shown.size(), calm.size());
  for (std::size_t i = 0; i < free; ++i) shown.push_back(calm[free == 1 ? 0 : i * (calm.size() - 1) / (free - 1)]);
  std::sort(shown.begin(), shown.end());
  return shown;
}

std::vector<std::size_t> Severities::shown(std::size_t most) const {
  const std::size_t count = table_.rows().size();
  const bool all = most == 0 || count <= most;
  const Style& style = table_.style();
  std::vector<std::size_t> order;
  if (style.probability ? !style.big || !all : style.big && !all) {
    order = worst_first();
  } else if (all) {
    order.resize(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
  } else {
    order = over_the_model(most);
  }
  if (!all) order.resize(most);
  return order;
}

}  // namespace loupe::console
