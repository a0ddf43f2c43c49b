#ifndef LOUPE_COMMAND_PRINTABLE_LINE_H
#define LOUPE_COMMAND_PRINTABLE_LINE_H

#include <loupe/utf8.h>

#include <algorithm>
#include <string>

namespace loupe {

/// Text of a file on a terminal: one line, without what would steer the terminal.
inline std::string printable_line(const std::string& text) {
  std::string line = printable(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\t'; }, '?');
  return line;
}

}  // namespace loupe

#endif
