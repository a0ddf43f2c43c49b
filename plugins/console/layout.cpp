#include "console/layout.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "console/severity.h"
#include "console/sparkline.h"
#include "console/text.h"

namespace loupe::console {
namespace {

constexpr std::size_t gap = 2, indent = 2;

std::size_t wanted_for_names(const Table& table, const std::vector<std::size_t>& rows) {
  std::size_t width = display_width(table.title());
  for (const std::size_t row : rows) width = std::max(width, indent + display_width(table.rows()[row].name));
  return width;
}

std::string cell(const Table& table, std::size_t row_index, std::size_t column) {
  const Row& row = table.rows()[row_index];
  if (column >= row.cells.size() || !row.known[column]) return "";
  const bool within_one = table.style().probability || table.style().relation || table.style().bounded;
  return short_number(row.cells[column], within_one ? Digits::decimals : Digits::significant);
}

/// How a table shares out the width.
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
      // Half a band misleads.
      if (numbers_.size() > 2 && table.is_upper_end(numbers_.size() - 1)) numbers_.pop_back();
      numbers_.pop_back();
    }
    if (!fits()) sparkline_ = 0;
    // Names come before longer curves.
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

// What the table does not show, "" where it shows all.
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

}  // namespace

std::string colored(const std::string& text, const char* code, const Layout& layout) {
  return layout.color ? std::string("\x1b[") + code + "m" + text + "\x1b[0m" : text;
}

std::size_t visible_width(const std::string& text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\x1b') {
      at = std::min(text.find('m', at), text.size());
    } else {
      plain += text[at];
    }
  }
  return display_width(plain);
}

std::string heading(const std::string& title, const Layout& layout) {
  const std::string shown = shortened(title, layout.width - 6);
  std::string rest;
  for (std::size_t column = display_width(shown) + 4; column < layout.width; ++column) rest += "─";
  return colored("── ", dim, layout) + colored(shown, bold, layout) + colored(" " + rest, dim, layout) + '\n';
}

std::size_t name_width(const Table& table, const Layout& layout) {
  return wanted_for_names(table, Severities(table).shown(layout.rows));
}

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

}  // namespace loupe::console
