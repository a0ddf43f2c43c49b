#include "console/table.h"

#include <loupe/plugin.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "console/text.h"

namespace loupe::console {
namespace {

struct LineName {
  std::string what, aggregation;
};

// "train_loss mean" -> train_loss, mean; "worst death_rate" -> the whole name, "".
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
    // A single value has no spread, so show none.
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

namespace {

enum class Severity { calm, notable, alarming };

/// Rates how bad the numbers of a table are:
/// - numbers that are not finite are alarming;
/// - the first number of a row with an open finding is as bad as the finding: an error alarming, a warning notable;
/// - death rates above 0.2 are notable, above 0.5 alarming; activation rates below 0.1 are notable, below 0.02
/// alarming;
/// - a number that grew tenfold since the last tick is notable, a thousandfold alarming.
/// Layers are not compared with each other: if most gradients have vanished, a healthy layer would be marked.
class Severities {
 public:
  explicit Severities(const Table& table) : table_(table) {}

  Severity of(std::size_t row, std::size_t column) const;
  /// Indices of at most `most` rows, 0 for all, in the order to show them. Probabilities: the worst first, by severity,
  /// then by the lowest activation rate or the highest death rate. Other numbers: in the order of the model, to show
  /// how they change from layer to layer; if there are too many rows, the bad ones and an even selection of the others.
  std::vector<std::size_t> shown(std::size_t most) const;

 private:
  std::vector<std::size_t> worst_first() const;
  std::vector<std::size_t> over_the_model(std::size_t most) const;
  Severity worst_of(std::size_t row) const;
  double score(std::size_t row) const;

  const Table& table_;
};

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

// The half width of a band is not judged: a large one is not bad.
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

constexpr std::size_t gap = 2, indent = 2;

std::size_t wanted_for_names(const Table& table, const std::vector<std::size_t>& rows) {
  std::size_t width = display_width(table.title());
  for (const std::size_t row : rows) width = std::max(width, indent + display_width(table.rows()[row].name));
  return width;
}

/// The number of columns that the names of a table need.
std::size_t name_width(const Table& table, const Layout& layout) {
  return wanted_for_names(table, Severities(table).shown(layout.rows));
}

std::string cell(const Table& table, std::size_t row_index, std::size_t column) {
  const Row& row = table.rows()[row_index];
  if (column >= row.cells.size() || !row.known[column]) return "";
  const bool within_one = table.style().probability || table.style().relation || table.style().bounded;
  return short_number(row.cells[column], within_one ? Digits::decimals : Digits::significant);
}

/// Divides the width of the terminal among the columns of a table.
class Columns {
 public:
  Columns(const Table& table, const std::vector<std::size_t>& rows, const Layout& layout) {
    const std::size_t names = wanted_for_names(table, rows);
    bool any_earlier = false;
    for (const std::size_t row : rows) any_earlier = any_earlier || !table.rows()[row].earlier.empty();
    for (std::size_t column = 0; column < table.columns().size(); ++column) {
      std::size_t width = std::max(least_number, display_width(table.columns()[column]));
      for (const std::size_t row : rows) width = std::max(width, display_width(cell(table, row, column)));
      numbers_.push_back(std::min(width, layout.width / 2));
    }
    const std::size_t epochs = any_earlier ? layout.history : 0;
    sparkline_ = std::min(epochs, least_sparkline);

    const std::size_t least_name = std::min(names, std::max(display_width(table.title()), least_shortened));
    const auto fits = [&] { return least_name + right_of_name() <= layout.width; };
    while (numbers_.size() > 1 && !fits()) {
      // Remove both ends of a band: one end would be misleading.
      if (numbers_.size() > 2 && table.is_upper_end(numbers_.size() - 1)) numbers_.pop_back();
      numbers_.pop_back();
    }
    if (!fits()) sparkline_ = 0;
    // Give names their width first, then widen the curves.
    name_ = std::min(std::max(names, layout.names), layout.width - std::min(right_of_name(), layout.width));
    if (sparkline_ > 0) sparkline_ = std::min(epochs, sparkline_ + layout.width - name_ - right_of_name());
  }

  std::size_t name() const { return name_; }
  const std::vector<std::size_t>& numbers() const { return numbers_; }
  std::size_t sparkline() const { return sparkline_; }

 private:
  static constexpr std::size_t least_number = 9, least_shortened = 24, least_sparkline = 6;

  std::size_t right_of_name() const {
    std::size_t width = sparkline_ > 0 ? gap + sparkline_ : 0;
    for (const std::size_t number : numbers_) width += gap + number;
    return width;
  }

  std::size_t name_ = 0, sparkline_ = 0;
  std::vector<std::size_t> numbers_;
};

Scale scale_of(const Style& style) {
  if (style.probability) return Scale::unit;
  return style.log_y ? Scale::logarithmic : Scale::data;
}

std::string history(const Row& row, const Style& style, std::size_t length) {
  std::vector<double> values = row.earlier;
  values.push_back(row.cells[row.main()]);
  if (values.size() > length) values.erase(values.begin(), values.end() - static_cast<std::ptrdiff_t>(length));
  return sparkline(values, scale_of(style));
}

// A note about rows and columns that the table does not show, "" if it shows all.
std::string left_out(const Table& table, std::size_t rows, std::size_t columns) {
  std::string text;
  if (const std::size_t more = table.rows().size() - rows; more > 0) {
    text = "… and " + std::to_string(more) + " more";
  }
  for (std::size_t column = columns; column < table.columns().size(); ++column) {
    text += column > columns ? ", " : text.empty() ? "… no room for " : "; no room for ";
    text += table.columns()[column];
  }
  return text;
}

std::string line(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text + '\n';
}

/// Joins the one-row tables for the whole model into one table, at the place of the first of them.
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

}  // namespace

std::string rendered(const Table& table, const Layout& layout) {
  const Severities severities(table);
  const std::vector<std::size_t> rows = severities.shown(layout.rows);
  const Columns columns(table, rows, layout);
  const std::string gap_text(gap, ' ');

  const std::string title = shortened(table.title(), columns.name());
  std::string headings = std::string(columns.name() - display_width(title), ' ');
  for (std::size_t column = 0; column < columns.numbers().size(); ++column) {
    const std::size_t width = columns.numbers()[column];
    headings += gap_text + right_aligned(shortened(table.columns()[column], width), width);
  }
  std::string text = line(colored(title, bold, layout) + colored(headings, dim, layout));

  const std::size_t room = columns.name() - std::min(indent, columns.name());
  std::vector<std::string> names;
  for (const std::size_t row : rows) names.push_back(table.rows()[row].name);
  names = shortened(names, room);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t row = rows[i];
    std::string shown = std::string(indent, ' ') + left_aligned(names[i], room);
    for (std::size_t column = 0; column < columns.numbers().size(); ++column) {
      const std::string number = right_aligned(cell(table, row, column), columns.numbers()[column]);
      const Severity severity = severities.of(row, column);
      shown += gap_text;
      shown +=
          severity == Severity::calm ? number : colored(number, severity == Severity::notable ? yellow : red, layout);
    }
    if (columns.sparkline() > 0) shown += gap_text + history(table.rows()[row], table.style(), columns.sparkline());
    text += line(shown);
  }
  if (const std::string rest = left_out(table, rows.size(), columns.numbers().size()); !rest.empty()) {
    text += line(std::string(indent, ' ') + colored(shortened(rest, layout.width - indent), dim, layout));
  }
  return text;
}

void TickTables::clear() {
  begin_tick();
  earlier_.clear();
}

void TickTables::begin_tick() {
  tables_.clear();
  table_of_tag_.clear();
}

Table* TickTables::table_of(const char* tag) {
  const auto [found, is_new] = table_of_tag_.try_emplace(tag, nullptr);
  if (is_new && tags_.takes(tag)) found->second = &tables_.emplace_back(tag, styles_[tag]);
  return found->second;
}

std::string TickTables::text(Layout layout, const Findings& findings) {
  for (Table& table : tables_) {
    for (Row& row : table.rows()) {
      const auto& earlier = earlier_[table.key()][row.key];
      row.earlier = earlier;
      row.finding = findings.standing_of(table.key(), row.key);
    }
  }
  const std::deque<Table> shown = merged(tables_);
  for (const Table& table : shown) layout.names = std::max(layout.names, name_width(table, layout));
  std::string text;
  for (const Table& table : shown) text += rendered(table, layout);
  return text;
}

void TickTables::remember() {
  for (const Table& table : tables_) {
    for (const Row& row : table.rows()) {
      auto& earlier = earlier_[table.key()][row.key];
      earlier.push_back(row.cells[row.main()]);
      if (earlier.size() > std::max<std::size_t>(history_, 1)) earlier.erase(earlier.begin());
    }
  }
}

void TickTables::forget_last() {
  for (const Table& table : tables_) {
    for (const Row& row : table.rows()) {
      auto& earlier = earlier_[table.key()][row.key];
      if (!earlier.empty()) earlier.pop_back();
    }
  }
}

}  // namespace loupe::console
