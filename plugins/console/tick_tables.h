#pragma once

#include <loupe/visualizers/selection.h>

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>

#include "console/findings.h"
#include "console/layout.h"
#include "console/table.h"

namespace loupe::console {

/// What the lenses tell in a tick, a table a tag, and each row's main number at the ticks before.
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
  /// Says of chosen tags that nothing fits them.
  void end_tick(const Host& host) { tags_.end_tick(host); }
  void end(const Host& host) { tags_.end(host); }

  const std::deque<Table>& all() const { return tables_; }
  /// As lines, with the numbers of the ticks before.
  std::string text(Layout layout, const Findings& findings);
  /// Once a tick, after its text.
  void remember();
  /// Takes that back, to show the tick once more.
  void forget_last();

 private:
  Table* table_of(const char* tag);

  ChosenNames tags_;
  std::size_t history_;
  std::map<std::string, Style> styles_;
  std::deque<Table> tables_;
  std::unordered_map<std::string, Table*> table_of_tag_;  // null for one that is not taken
  std::unordered_map<std::string, std::unordered_map<std::string, std::deque<double>>> earlier_;
};

}  // namespace loupe::console
