#include "console/tick_tables.h"

#include <algorithm>

namespace loupe::console {

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
      row.earlier.assign(earlier.begin(), earlier.end());
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
      if (earlier.size() > std::max<std::size_t>(history_, 1)) earlier.pop_front();
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
