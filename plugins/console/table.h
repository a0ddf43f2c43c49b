#pragma once

#include <loupe/visualizer.h>
#include <loupe/visualizers/selection.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "console/findings.h"

namespace loupe::console {

/// How to show a tag.
struct Style {
  bool big = false;
  bool log_y = false;
  bool probability = false;
  bool relation = false;
  bool bounded = false;  ///< its axis has two limits, for example of a correlation
  std::string unit = {};
};

struct Row {
  std::string key;              ///< the lens's name for it
  std::string name;             ///< the name to show
  std::vector<double> cells;    ///< one per column; NaN if `known` is false
  std::vector<bool> known;      ///< which cells have a value
  std::vector<double> earlier;  ///< the main cell at earlier ticks, oldest first
  std::uint32_t finding = 0;    ///< LOUPE_SEVERITY_ of its worst open finding, 0 if there is none
  /// The index of its first cell with a value, which is used to sort and draw the row.
  std::size_t main() const;
};

/// The values of one tag in one tick: a row per layer and a column per line; for a big tag, a row per line and a column
/// per aggregation ("train_loss mean" is row "train_loss", column "mean").
class Table {
 public:
  Table(std::string tag, Style style);

  void add(const loupe::Row& row) {
    if (row.step > 0) return;  // a table shows only values of whole ticks
    each_value(row, [&](const RowValue& value) { add(value); });
    each_range(row, [&](const RowRange& range) { add(range); });
  }
  void add(const RowValue& value);

  /// Adds the only row of another table, under that table's name.
  void join(const Table& single);

  /// The tag's id.
  const std::string& key() const { return key_; }
  /// The tag's name to show.
  const std::string& title() const { return title_; }
  const Style& style() const { return style_; }
  const std::vector<std::string>& columns() const { return columns_; }
  /// Whether a column is the upper end of a band; the column before is the lower end.
  bool is_upper_end(std::size_t column) const { return upper_ends_[column]; }
  std::vector<Row>& rows() { return rows_; }
  const std::vector<Row>& rows() const { return rows_; }

 private:
  /// Adds two columns; for a band from -σ to +σ one column "σ" with half its width.
  void add(const RowRange& range);
  void set(const std::string& row, const std::string& column, double value, bool upper_end = false);

  std::string key_, title_;
  Style style_;
  std::vector<std::string> columns_;
  std::vector<bool> upper_ends_;
  std::vector<Row> rows_;
  std::unordered_map<std::string, std::size_t> row_of_;
};

/// The table as lines. If the width is too small, leaves out columns from the right and names them.
std::string rendered(const Table& table, const Layout& layout);

/// The lenses' numbers of a tick, one table for each tag, and each row's main number at earlier ticks.
class TickTables {
 public:
  /// @param history  how many ticks to keep
  TickTables(const Strings& tags, std::size_t history) : tags_("tags", "tag", tags), history_(history) {}

  void clear();
  void set_style(const std::string& tag, const Style& style) { styles_[tag] = style; }
  void begin_tick();
  void take(const loupe::Row& row) {
    if (Table* table = table_of(row.tag)) table->add(row);
  }
  /// Warns about chosen tags that match nothing.
  void end_tick(const Host& host) { tags_.end_tick(host); }
  void end(const Host& host) { tags_.end(host); }

  const std::deque<Table>& all() const { return tables_; }
  /// The table as lines, with the numbers of earlier ticks.
  std::string text(Layout layout, const Findings& findings);
  /// Remembers the numbers of this tick. Call once per tick, after text().
  void remember();
  /// Undoes remember(), to show the tick once more.
  void forget_last();

 private:
  Table* table_of(const char* tag);

  ChosenNames tags_;
  std::size_t history_;
  std::map<std::string, Style> styles_;
  std::deque<Table> tables_;
  std::unordered_map<std::string, Table*> table_of_tag_;  // null for tags that are not shown
  std::unordered_map<std::string, std::unordered_map<std::string, std::vector<double>>> earlier_;
};

}  // namespace loupe::console
