#include "console/severity.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

namespace loupe::console {
namespace {

Severity graded(double badness, double notable, double alarming) {
  if (badness > alarming) return Severity::alarming;
  return badness > notable ? Severity::notable : Severity::calm;
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

// A band's half width says nothing by itself.
bool is_spread(const std::string& column) {
  return contains(column, "σ");
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

enum class Meaning { death, activation, other };

Meaning meaning(const Table& table, const Row& row, std::size_t column) {
  const std::string& name = table.style().big ? row.name : table.columns()[column];
  if (!table.style().probability) return Meaning::other;
  if (contains(name, "death")) return Meaning::death;
  return contains(name, "activation") ? Meaning::activation : Meaning::other;
}

}  // namespace

Severities::Severities(const Table& table) : table_(table), medians_(table.columns().size(), NAN) {
  const Style& style = table.style();
  if (style.big || style.probability || style.bounded) return;
  constexpr std::size_t enough = 4;
  for (std::size_t column = 0; column < medians_.size(); ++column) {
    std::vector<double> values;
    bool negative = false;
    for (const Row& row : table.rows()) {
      if (column >= row.cells.size() || !row.known[column] || !std::isfinite(row.cells[column])) continue;
      values.push_back(row.cells[column]);
      negative = negative || row.cells[column] < 0;
    }
    if (values.size() >= enough && !negative && !is_spread(table.columns()[column])) medians_[column] = median(values);
  }
}

Severity Severities::of(std::size_t row_index, std::size_t column) const {
  const Row& row = table_.rows()[row_index];
  if (column >= row.cells.size() || !row.known[column]) return Severity::calm;
  const double value = row.cells[column];
  if (!std::isfinite(value)) return Severity::alarming;
  if (is_spread(table_.columns()[column])) return Severity::calm;
  switch (meaning(table_, row, column)) {
    case Meaning::death:
      return graded(value, 0.2, 0.5);
    case Meaning::activation:
      return graded(1 - value, 0.9, 0.98);
    case Meaning::other:
      break;
  }
  Severity worst = Severity::calm;
  if (const double middle = medians_[column]; middle > 0) {
    worst = graded(std::max(value / middle, middle / value), 30, 1000);
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

}  // namespace loupe::console
