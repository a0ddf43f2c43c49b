#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/shared.h"

namespace loupe {

/// The text with invalid UTF-8 replaced by U+FFFD: names of models may have any bytes, but text that crosses the
/// boundary may not.
LOUPE_SHARED std::string utf8(std::string_view text);
bool is_utf8(std::string_view text);

/// The text for a terminal: valid UTF-8, with "?" for each control character but `kept`, so that no name controls the
/// terminal.
std::string printable(std::string_view text, std::u32string_view kept = U"\n\t");

/// More names than this are easier to find in columns than in a sentence.
constexpr std::size_t many_names = 20;
/// Names in columns, row by row, in lines of at most `width` with `indent` spaces before each; without the last
/// line's end. `width` counts the indent.
std::string in_columns(const std::vector<std::string>& names, std::size_t width, std::size_t indent);

/// "; did you mean 'x'?" for a known name near `name`, or "; known are …" with all names, many of them on their own
/// lines.
std::string suggestion(const std::string& name, const std::vector<std::string>& known);

/// "a, b, c"
template <class Texts>
std::string join(const Texts& texts, const char* between = ", ") {
  std::string all;
  for (const auto& each : texts) (all.empty() ? all : all += between) += each;
  return all;
}

/// Fewer leave no room for indents.
constexpr std::size_t fewest_columns = 20;
/// The columns of the terminal at a descriptor; nullopt if it is not a terminal.
std::optional<std::size_t> terminal_columns(int descriptor);

/// Whether a byte of UTF-8 text is the first of a code point.
bool begins_code_point(char byte);
/// The columns of UTF-8 text, one for each code point.
std::size_t columns_of(const std::string& text);

/// A line as lines of at most `columns`, broken between words; a longer word stays whole. The further lines begin below
/// the last column of a list ("name  type  text"), else a little to the right of the first.
std::string wrapped_line(const std::string& line, std::size_t columns);

}  // namespace loupe
