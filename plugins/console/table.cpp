#include "console/table.h"

#include <loupe/plugin.h>

#include <algorithm>
#include <utility>

#include "console/text.h"

namespace loupe::console {
namespace {

struct LineName {
  std::string what, aggregation;
};

// "train_loss mean" -> train_loss, mean; "worst death_rate" -> itself, "".
LineName split(const std::string& line) {
  static const auto& band_ends = *new Strings{"-σ", "+σ"};
  const auto names = [](const Strings& all, const std::string& name) {
    return std::find(all.begin(), all.end(), name) != all.end();
  };
  const std::size_t blank = line.rfind(' ');
  if (blank == std::string::npos) return {line, ""};
  const std::string last = line.substr(blank + 1);
  if (!names(aggregation_names(), last) && !names(band_ends, last)) return {line, ""};
  return {line.substr(0, blank), last};
}

}  // namespace

Table::Table(std::string tag, Style style) : key_(std::move(tag)), title_(harmless(key_)), style_(std::move(style)) {}

std::size_t Row::main() const {
  return static_cast<std::size_t>(std::find(known.begin(), known.end(), true) - known.begin());
}

void Table::add(const RowValue& value) {
  if (!style_.big) return set(layer_of(value), value.line, value.value);
  const LineName line = split(value.line);
  set(line.what, line.aggregation.empty() ? "value" : line.aggregation, value.value);
}

void Table::add(const RowRange& range) {
  LineName low{layer_of(range), range.low_name}, high{layer_of(range), range.high_name};
  if (style_.big) {
    low = split(range.low_name);
    high = split(range.high_name);
    if (low.aggregation.empty()) low.aggregation = "low";
    if (high.aggregation.empty()) high.aggregation = "high";
  }
  constexpr const char* minus = "-σ";
  const std::size_t prefix = low.aggregation.size() - std::min(low.aggregation.size(), std::string(minus).size());
  if (low.aggregation.substr(prefix) == minus) {
    // A single value has no spread.
    if (range.high == range.low) return;
    return set(low.what, low.aggregation.substr(0, prefix) + "σ", range.high / 2 - range.low / 2);
  }
  set(low.what, low.aggregation, range.low);
  set(high.what, high.aggregation, range.high, true);
}

void Table::join(const Table& single) {
  const Row& row = single.rows().front();
  const bool same = row.key == single.key() || row.name == single.title();
  const std::string name = same ? single.title() : single.title() + ": " + row.name;
  for (std::size_t column = 0; column < row.cells.size(); ++column) {
    if (row.known[column]) set(name, single.columns()[column], row.cells[column], single.is_upper_end(column));
  }
  rows_.back().earlier = row.earlier;
  rows_.back().finding = row.finding;
}

std::deque<Table> merged(const std::deque<Table>& tables) {
  const auto joins = [](const Table& table) {
    const Style& style = table.style();
    return style.big && !style.probability && !style.relation && !style.bounded && table.rows().size() == 1;
  };
  if (std::count_if(tables.begin(), tables.end(), joins) < 2) return tables;
  std::deque<Table> shown;
  std::size_t joined = tables.size();
  for (const Table& table : tables) {
    if (!joins(table)) {
      shown.push_back(table);
      continue;
    }
    if (joined == tables.size()) {
      joined = shown.size();
      Style style;
      style.big = true;
      shown.emplace_back("Whole model", style);
    }
    shown[joined].join(table);
  }
  return shown;
}

void Table::set(const std::string& row, const std::string& column, double value, bool upper_end) {
  const auto [place, is_new] = row_of_.try_emplace(row, rows_.size());
  if (is_new) rows_.push_back({row, harmless(row), {}, {}, {}});
  const std::string title = harmless(column);
  const auto found = std::find(columns_.begin(), columns_.end(), title);
  const auto index = static_cast<std::size_t>(found - columns_.begin());
  if (found == columns_.end()) {
    columns_.push_back(title);
    upper_ends_.push_back(upper_end);
  }
  Row& target = rows_[place->second];
  if (target.cells.size() < columns_.size()) {
    target.cells.resize(columns_.size(), NAN);
    target.known.resize(columns_.size(), false);
  }
  target.cells[index] = value;
  target.known[index] = true;
}

}  // namespace loupe::console
