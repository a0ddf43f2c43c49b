#include "console/layers.h"

#include <algorithm>

namespace loupe::console {

void Layers::take(const Model& model) {
  for (std::size_t i = 0; i < model.module_count; ++i) {
    const loupe_module& module = *model.modules[i];
    const bool is_layer = (module.flags & LOUPE_MODULE_LEAF) != 0 && (module.flags & LOUPE_MODULE_LOSS) == 0;
    if (is_layer && known_.insert(module.name).second) names_.emplace_back(module.name);
  }
}

std::string Layers::strip(std::size_t width, const std::unordered_map<std::string, std::uint32_t>& worst,
                          const Layout& layout) const {
  constexpr std::size_t widest = 3;
  if (names_.empty() || width == 0) return "";
  const std::size_t cells = std::min(names_.size(), width), columns = std::clamp<std::size_t>(width / cells, 1, widest);
  std::string text;
  for (std::size_t cell = 0; cell < cells; ++cell) {
    std::uint32_t severity = 0;
    for (std::size_t i = cell * names_.size() / cells; i < (cell + 1) * names_.size() / cells; ++i) {
      if (const auto found = worst.find(names_[i]); found != worst.end()) severity = std::max(severity, found->second);
    }
    const bool is_error = severity >= LOUPE_SEVERITY_ERROR, is_warning = severity == LOUPE_SEVERITY_WARNING;
    std::string signs;
    for (std::size_t i = 0; i < columns; ++i) signs += is_error ? "×" : is_warning ? "!" : "■";
    text += colored(signs, is_error ? red : is_warning ? yellow : green, layout);
  }
  return text;
}

Table numbers_of_layers(const std::deque<Table>& tables) {
  constexpr std::size_t most = 4;
  Table all("layers", Style());
  std::size_t count = 0;
  for (const Table& table : tables) {
    const std::vector<Row>& rows = table.rows();
    if (table.style().big || rows.size() < 2 || count == most) continue;
    const auto main_of = [](const Row& row) { return row.cells[row.main()]; };
    if (std::all_of(rows.begin(), rows.end(), [&](const Row& row) { return main_of(row) == main_of(rows.front()); }))
      continue;
    for (const Row& row : rows) {
      RowValue value;
      value.layer = row.key.c_str();
      value.line = table.key().c_str();
      value.value = main_of(row);
      all.add(value);
    }
    ++count;
  }
  return all;
}

}  // namespace loupe::console
