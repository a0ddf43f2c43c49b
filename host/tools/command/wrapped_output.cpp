#include "command/wrapped_output.h"

#include <loupe/text/environment.h>
#include <unistd.h>

#include <algorithm>

#include "core/text.h"

namespace loupe {

std::optional<std::size_t> output_columns() {
  if (const auto columns = terminal_columns(STDOUT_FILENO)) return columns;
  const auto columns = columns_in_environment();
  if (!columns) return std::nullopt;
  return std::max(static_cast<std::size_t>(*columns), fewest_columns);
}

std::string shortened_end(const std::string& text, std::size_t columns) {
  if (columns_of(text) <= columns) return text;
  std::size_t end = 0;
  for (std::size_t taken = 0; end < text.size(); ++end) {
    if (begins_code_point(text[end]) && ++taken >= columns) break;
  }
  return columns == 0 ? "" : text.substr(0, end) + "…";
}

WrappedOutput::~WrappedOutput() {
  if (!line_.empty()) to_ << shown();
  to_.flush();
}

/// The line with only characters that are safe on a terminal: texts of files and their names may hold anything.
std::string WrappedOutput::shown() const {
  const std::string line = printable(line_);
  return columns_ ? wrapped_line(line, *columns_) : line;
}

std::streambuf::int_type WrappedOutput::overflow(std::streambuf::int_type letter) {
  using Traits = std::char_traits<char>;
  if (Traits::eq_int_type(letter, Traits::eof())) return Traits::not_eof(letter);
  if (letter != '\n') {
    line_ += Traits::to_char_type(letter);
    return letter;
  }
  to_ << shown() << '\n';
  line_.clear();
  return to_ ? letter : Traits::eof();
}

int WrappedOutput::sync() {
  to_.flush();
  return to_ ? 0 : -1;
}

}  // namespace loupe
