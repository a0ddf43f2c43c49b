#pragma once

#include <string>
#include <string_view>

namespace loupe {

/// The text with invalid UTF-8 replaced by U+FFFD: names of models may hold any bytes, and what crosses the
/// boundary may not.
std::string utf8(std::string_view text);

/// The text as a terminal may show it: valid UTF-8, with "?" for each control character except line end and tab, so
/// that no name steers the terminal.
std::string printable(std::string_view text);
/// The same in one line: "?" for line ends and tabs too.
std::string printable_line(std::string_view text);

}  // namespace loupe
