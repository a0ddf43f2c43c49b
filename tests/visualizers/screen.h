#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace loupe::test {

/// A simulated terminal, with the control sequences that the console writes. A character in the last column leaves
/// the cursor there until the next one wraps, as in xterm. Every character takes one column.
class Screen {
 public:
  Screen(std::size_t rows, std::size_t columns)
      : rows_(rows), columns_(columns), last_(rows - 1), cells_(rows, Row(columns, " ")) {}

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
  /// The rows without trailing blanks, and without empty rows at the bottom.
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
    bool wraps = false;  // the last column is written, and the next character goes to the next row
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
    if (cursor_.row != last_) {
      cursor_.row = std::min(cursor_.row + 1, rows_ - 1);
      return;
    }
    // Rows below the last row that scrolls stay.
    cells_.erase(cells_.begin());
    cells_.emplace(cells_.begin() + static_cast<std::ptrdiff_t>(last_), columns_, " ");
  }
  void clear(std::size_t row, std::size_t column) {
    std::fill(cells_[row].begin() + static_cast<std::ptrdiff_t>(column), cells_[row].end(), " ");
  }
  /// Returns the length of the sequence.
  std::size_t escape(const std::string& text) {
    if (text.at(1) == '[') return control_sequence(text);
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

  std::size_t control_sequence(const std::string& text) {
    const std::size_t end = text.find_first_not_of("0123456789;", 2);
    const std::string numbers = text.substr(2, end - 2);
    const auto number = [&](std::size_t from, std::size_t usual) {
      return from < numbers.size() ? static_cast<std::size_t>(std::stoul(numbers.substr(from))) : usual;
    };
    const std::size_t second = numbers.find(';') == std::string::npos ? numbers.size() : numbers.find(';') + 1;
    switch (text.at(end)) {
      case 'A':
        cursor_.row -= std::min(cursor_.row, number(0, 1));
        cursor_.wraps = false;
        break;
      case 'H':
        cursor_ = {number(0, 1) - 1, number(second, 1) - 1, false};
        break;
      case 'J':
        clear(cursor_.row, cursor_.column);
        for (std::size_t row = cursor_.row + 1; row < rows_; ++row) clear(row, 0);
        break;
      case 'K':
        clear(cursor_.row, cursor_.column);
        break;
      case 'm':
        break;
      case 'r':
        last_ = number(second, rows_) - 1;
        cursor_ = {};
        break;
      default:
        throw std::runtime_error("a sequence that this screen does not know: " + text.substr(1, 5));
    }
    return end + 1;
  }

  std::size_t rows_, columns_, last_;  // last_ is the last row that scrolls
  std::vector<Row> cells_;
  Cursor cursor_, saved_;
};

}  // namespace loupe::test
