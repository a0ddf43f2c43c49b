#include "console/panel.h"

#include <loupe/text/number_text.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "console/text.h"

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
  if (names_.empty() || width == 0) return "";
  const std::size_t cells = std::min(names_.size(), width);
  const std::string gap = width >= 2 * cells ? " " : "";
  std::string text;
  for (std::size_t cell = 0; cell < cells; ++cell) {
    std::uint32_t severity = 0;
    for (std::size_t i = cell * names_.size() / cells; i < (cell + 1) * names_.size() / cells; ++i) {
      if (const auto found = worst.find(names_[i]); found != worst.end()) severity = std::max(severity, found->second);
    }
    const bool is_error = severity >= LOUPE_SEVERITY_ERROR, is_warning = severity == LOUPE_SEVERITY_WARNING;
    const char* const sign = is_error ? "×" : is_warning ? "!" : "■";
    text += (cell > 0 ? gap : "") + colored(sign, is_error ? red : is_warning ? yellow : green, layout);
  }
  return text;
}

namespace {

using SeverityByLayer = std::unordered_map<std::string, std::uint32_t>;

/// LOUPE_SEVERITY_ of each layer: of its worst finding, and an error for NaN and infinity, because a finding reports
/// these only for the layer where they began.
SeverityByLayer severity_by_layer(const PanelView& view) {
  SeverityByLayer worst = view.findings.worst_by_layer();
  for (const Table& table : view.tables) {
    if (table.style().big) continue;
    const bool counts_broken = table.key() == "Non-Finite Values";
    for (const Row& row : table.rows()) {
      for (std::size_t i = 0; i < row.cells.size(); ++i) {
        if (row.known[i] && (counts_broken ? row.cells[i] > 0 : !std::isfinite(row.cells[i])))
          worst[row.key.substr(0, row.key.find(':'))] = LOUPE_SEVERITY_ERROR;
      }
    }
  }
  return worst;
}

/// The first few plots that have a number for each layer, as one table; leaves out plots whose numbers are all equal.
Table numbers_of_layers(const std::deque<Table>& tables, const SeverityByLayer& worst) {
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
  for (Row& row : all.rows()) {
    if (const auto found = worst.find(row.key); found != worst.end()) row.finding = found->second;
  }
  return all;
}

constexpr std::size_t least_lines = 12, most_numbers = 4, most_findings = 4;
// A terminal of at least this many rows has room for a curve of the loss, if findings leave it this many rows.
constexpr std::size_t tall = 30, least_curve_rows = 2, most_curve_rows = 5;
constexpr std::size_t wide = 160, left_of_wide = 80, count_column = 11;

/// Adds at most `rows` numbers.
void add_numbers(const PanelView& view, std::size_t width, std::size_t rows, std::vector<std::string>& lines) {
  std::size_t names = 0;
  // Losses come first: they have a best value.
  std::vector<const Headlines::Number*> numbers;
  for (const bool losses : {true, false}) {
    for (const Headlines::Number& each : view.headlines.all()) {
      if (view.headlines.has_ended(each)) continue;
      if (each.is_loss == losses && numbers.size() < std::min(rows, most_numbers)) numbers.push_back(&each);
    }
  }
  for (const auto* each : numbers) names = std::max(names, display_width(each->name));
  names = std::min(names, width / 3);
  constexpr std::size_t number_width = 11, best_width = 26, least_curve = 4;
  for (const auto* each : numbers) {
    std::string line =
        left_aligned(shortened(each->name, names), names) + right_aligned(each->text(), number_width) + "  ";
    std::string best;
    if (!std::isnan(each->best))
      best = "best " + short_number(each->best) + " in epoch " + number_text(each->best_epoch);
    if (names + number_width + best_width + 4 < width)
      line += left_aligned(shortened(best, best_width), best_width) + "  ";
    const std::size_t room = width - std::min(width, display_width(line));
    std::vector<double> values(each->values.begin(), each->values.end());
    if (values.size() > room) values.erase(values.begin(), values.end() - static_cast<std::ptrdiff_t>(room));
    if (room >= least_curve && values.size() > 1) line += sparkline(values, Scale::data);
    lines.push_back(line);
  }
}

/// The first trained loss that has a curve, else any other; null if there is none.
const Headlines::Number* loss_to_draw(const Headlines& headlines) {
  for (const bool trained : {true, false}) {
    for (const Headlines::Number& each : headlines.all()) {
      const bool is_drawn = each.is_loss && each.values.size() > 1 && !headlines.has_ended(each);
      if (is_drawn && headlines.is_trained(each) == trained) return &each;
    }
  }
  return nullptr;
}

/// Draws the loss over the epochs, `rows` lines high below its title.
void add_curve(const PanelView& view, std::size_t width, std::size_t rows, const Layout& layout,
               std::vector<std::string>& lines) {
  const Headlines::Number* loss = loss_to_draw(view.headlines);
  if (loss == nullptr) return;
  const std::vector<double> values(loss->values.begin(), loss->values.end());
  double low = NAN, high = NAN;
  for (const double value : values) {
    low = std::fmin(low, value);
    high = std::fmax(high, value);
  }
  const std::string title = loss->name + " over the last " + std::to_string(values.size()) + " epochs";
  lines.push_back(colored(shortened(title, width), dim, layout));
  // The limits of the axis are written beside the curve.
  const std::string top = short_number(high), foot = short_number(low);
  const std::size_t room = std::max(display_width(top), display_width(foot));
  std::vector<std::string> drawn = curve(values, Scale::data, width - std::min(width, room + 2), rows);
  for (std::size_t row = 0; row < drawn.size(); ++row) {
    const std::string label = row + 1 == drawn.size() ? foot : row == 0 && top != foot ? top : "";
    lines.push_back(colored(right_aligned(label, room) + " │", dim, layout) + drawn[row]);
  }
}

/// The findings with their places, in at most `rows` lines. The worst one comes with its remedy, the others as far as
/// there is room.
std::vector<std::string> found_by(const PanelView& view, std::size_t width, std::size_t rows, const Layout& layout) {
  constexpr std::size_t most_of_remedy = 3, most_of_fault = 4;
  const std::vector<Findings::Brief> worst = view.findings.worst_by_rule();
  const bool is_healthy = std::none_of(worst.begin(), worst.end(),
                                       [](const auto& each) { return each.severity >= LOUPE_SEVERITY_WARNING; });
  std::vector<std::string> lines;
  if (is_healthy && view.looks_for_findings) lines.push_back(colored("✓ Training looks healthy so far", green, layout));
  const std::size_t room = width - 2;
  const auto add = [&](const std::string& sign, const std::vector<std::string>& texts) {
    for (std::size_t i = 0; i < texts.size(); ++i) lines.push_back((i == 0 ? sign : "  ") + texts[i]);
  };
  std::size_t shown = 0;
  for (const Findings::Brief& each : worst) {
    if (each.severity < LOUPE_SEVERITY_WARNING || shown == most_findings) break;
    // The last row names the number of the findings that have none.
    if (shown > 0 && lines.size() + (worst.size() - shown > 1 ? 2 : 1) > rows) break;
    const bool is_error = each.severity >= LOUPE_SEVERITY_ERROR, is_first = shown++ == 0;
    std::vector<std::string> remedy;
    if (is_first && !each.advice.empty()) remedy = wrapped("→ " + each.advice, room, most_of_remedy);
    const std::size_t others = worst.size() > 1 ? 1 : 0;
    const std::size_t left = rows - std::min(rows, remedy.size() + others);
    add(colored(is_error ? "× " : "! ", is_error ? red : yellow, layout),
        wrapped(each.text, room, is_first ? std::clamp<std::size_t>(left, 1, most_of_fault) : 1));
    add("  ", remedy);
  }
  if (worst.size() > shown && shown > 0)
    lines.push_back(colored("  … and " + std::to_string(worst.size() - shown) + " more, see the report", dim, layout));
  return lines;
}

/// The number of rows for the panel below its title; the program keeps the others.
std::size_t most_rows(const Size& size) {
  return std::max(least_lines, size.rows / 2) - 1;
}

/// At most `rows` lines: the numbers, a curve of the loss if there is room for it, and the layers.
std::vector<std::string> left_of(const PanelView& view, const SeverityByLayer& worst, std::size_t width,
                                 std::size_t rows, bool has_curve, const Layout& layout) {
  std::vector<std::string> lines;
  const std::size_t strip = view.layers.count() > 0 ? 1 : 0, others = rows - std::min(rows, strip);
  add_numbers(view, width, others, lines);
  const std::size_t left = others - lines.size();
  if (has_curve && left > least_curve_rows) add_curve(view, width, std::min(left - 1, most_curve_rows), layout, lines);
  if (strip > 0) {
    const std::size_t layers = view.layers.count();
    const std::string count = left_aligned(std::to_string(layers) + (layers == 1 ? " layer" : " layers"), count_column);
    lines.push_back(count + view.layers.strip(width - display_width(count), worst, layout));
  }
  return lines;
}

std::vector<std::string> right_of(const PanelView& view, const SeverityByLayer& worst, std::size_t width,
                                  std::size_t rows, const Layout& layout) {
  const Table table = numbers_of_layers(view.tables, worst);
  if (table.rows().empty()) return {};
  Layout beside = layout;
  beside.width = width;
  beside.rows = rows > 2 ? rows - 2 : 1;
  beside.history = 0;
  beside.names = 0;
  std::istringstream text(rendered(table, beside));
  std::vector<std::string> lines;
  for (std::string line; lines.size() < rows && std::getline(text, line);) lines.push_back(line);
  return lines;
}

}  // namespace

bool has_room_for_panel(const Size& size) {
  constexpr std::size_t least_columns = 40, for_the_program = 4;
  return size.columns >= least_columns && size.rows >= least_lines + for_the_program;
}

std::vector<std::string> panel_of(const PanelView& view, const Size& size, const Layout& layout) {
  constexpr std::size_t least_numbers = 2;
  const std::size_t width = size.columns - 1;
  const bool is_wide = size.columns >= wide;
  const SeverityByLayer worst = severity_by_layer(view);
  std::vector<std::string> lines;
  // The progress line takes the whole width.
  if (!view.progress.empty()) lines.push_back(shortened(view.progress, width));
  // Findings come first. Two losses and the layers always have a row; what findings leave goes to the others.
  std::size_t rows = most_rows(size) - lines.size();
  const std::vector<std::string> found = found_by(view, width, rows - least_numbers - 1, layout);
  rows -= found.size();
  std::vector<std::string> beside =
      left_of(view, worst, is_wide ? left_of_wide : width, rows, size.rows >= tall, layout);
  if (is_wide) {
    const std::vector<std::string> right = right_of(view, worst, width - left_of_wide - 2, rows, layout);
    if (beside.size() < right.size()) beside.resize(right.size());
    for (std::size_t i = 0; i < right.size(); ++i) {
      const std::size_t taken = visible_width(beside[i]);
      beside[i] += std::string(left_of_wide + 2 - std::min(taken, left_of_wide + 2), ' ') + right[i];
    }
  }
  lines.insert(lines.end(), beside.begin(), beside.end());
  lines.insert(lines.end(), found.begin(), found.end());
  Layout of_title = layout;
  of_title.width = width;
  const std::string counts = view.findings.counts();
  std::string title = heading(view.title + (counts.empty() ? "" : " · " + counts), of_title);
  title.pop_back();
  lines.insert(lines.begin(), title);
  return lines;
}

}  // namespace loupe::console
