#include "console/region.h"

#include <utility>

namespace loupe::console {
namespace {

using Sequence = const std::string;  // never destroyed: consoles may be static objects
Sequence &escape = *new Sequence("\x1b"), &save = *new Sequence(escape + "7"), &restore = *new Sequence(escape + "8");
Sequence &index = *new Sequence(escape + "D"), &all_rows_scroll = *new Sequence(escape + "[r");
Sequence &clear_row = *new Sequence(escape + "[K"), &clear_below = *new Sequence(escape + "[J");

std::string up(std::size_t rows) {
  return escape + "[" + std::to_string(rows) + "A";
}
std::string row_begins(std::size_t row) {
  return escape + "[" + std::to_string(row) + ";1H";
}
std::string first_rows_scroll(std::size_t rows) {
  return escape + "[1;" + std::to_string(rows) + "r";
}

}  // namespace

std::string Region::with(const std::vector<std::string>& lines, const Size& size) {
  std::string text;
  if (height_ != lines.size() || !(size_ == size)) {
    text = cleared(size);
    height_ = lines.size();
    size_ = size;
    // Makes room below the cursor, whose column is the program's. Setting what scrolls moves it to the first row.
    for (std::size_t i = 0; i < height_; ++i) text += index;
    text += up(height_) + save + first_rows_scroll(size.rows - height_) + restore;
  }
  text += save;
  for (std::size_t i = 0; i < height_; ++i) text += row_begins(size.rows - height_ + i + 1) + lines[i] + clear_row;
  return text + restore;
}

std::string Region::removed() {
  std::string text = cleared(size_);
  height_ = 0;
  return text;
}

/// @param size  of the terminal now
std::string Region::cleared(const Size& size) const {
  if (height_ == 0) return "";
  std::string text = save + all_rows_scroll;
  if (size_ == size) {
    for (std::size_t i = 0; i < height_; ++i) text += row_begins(size.rows - height_ + i + 1) + clear_row;
    return text + restore;
  }
  // Where its lines came to lie is not known; below the cursor there is nothing else. What the terminal erases from
  // there on includes the sign under the cursor, where the program's own line fills the row: the blank goes first.
  return text + restore + save + " " + clear_below + restore;
}

}  // namespace loupe::console
