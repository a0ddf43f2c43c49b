#ifndef LOUPE_TESTS_VISUALIZERS_SCREEN_H
#define LOUPE_TESTS_VISUALIZERS_SCREEN_H

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace loupe::test {

/// What a terminal would show: of the control sequences those that the console writes. A sign in the last column leaves
/// the cursor there until the next one wraps, as in xterm. Every character takes one column.
class Screen {
 public:
  Screen(std::size_t rows, std::size_t columns) : rows_(rows), columns_(columns), cells_(rows, Row(columns, " ")) {}

  void write(const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
      const auto byte = static_cast<unsigned char>(text[at]);
      if (byte == 0x1b) {
        at += escape(text.substr(at));
        continue;
      }
      std::size_t length = 1;
      while (at + length < text.size() && (static_cast<unsigned char>(text[at + length]) & 0xC0) == 0x80) ++length;
      byte < 0x20 ? control(text[at]) : print(text.substr(at, length));
      at += length;
    }
  }
  /// The rows without blanks at their ends, nor empty ones at the bottom.
  std::vector<std::string> shown() const {
    std::vector<std::string> lines;
    for (const Row& row : cells_) {
      std::string line;
      for (const std::string& cell : row) line += cell;
      lines.push_back(line.substr(0, line.find_last_not_of(' ') + 1));
    }
    while (!lines.empty() && lines.back().empty()) lines.pop_back();
    return lines;
  }

 private:
  using Row = std::vector<std::string>;
  struct Cursor {
    std::size_t row = 0, column = 0;
    bool wraps = false;  // the last column is written, and the next sign goes to the next row
  };

  void print(const std::string& sign) {
    if (cursor_.wraps) {
      down();
      cursor_.column = 0;
    }
    cursor_.wraps = cursor_.column + 1 == columns_;
    cells_[cursor_.row][cursor_.column] = sign;
    if (!cursor_.wraps) ++cursor_.column;
  }
  void control(char sign) {
    if (sign == '\n') down();
    if (sign == '\n' || sign == '\r') cursor_.column = 0;
    cursor_.wraps = false;
  }
  void down() {
    cursor_.wraps = false;
    if (++cursor_.row < rows_) return;
    --cursor_.row;
    cells_.erase(cells_.begin());
    cells_.emplace_back(columns_, " ");
  }
  /// Gives its length.
  std::size_t escape(const std::string& text) {
    if (text.rfind("\x1b[J", 0) == 0) {
      for (std::size_t row = cursor_.row; row < rows_; ++row) {
        const std::size_t first = row == cursor_.row ? cursor_.column : 0;
        std::fill(cells_[row].begin() + static_cast<std::ptrdiff_t>(first), cells_[row].end(), " ");
      }
      return 3;
    }
    if (text.rfind("\x1b[A", 0) == 0) {
      cursor_.row -= std::min<std::size_t>(cursor_.row, 1);
      cursor_.wraps = false;
      return 3;
    }
    switch (text.at(1)) {
      case 'D':
        down();
        return 2;
      case '7':
        saved_ = cursor_;
        return 2;
      case '8':
        cursor_ = saved_;
        return 2;
      default:
        throw std::runtime_error("a sequence that this screen does not know: " + text.substr(1, 5));
    }
  }

  std::size_t rows_, columns_;
  std::vector<Row> cells_;
  Cursor cursor_, saved_;
};

}  // namespace loupe::test

#endif
