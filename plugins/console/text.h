#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace loupe::console {

// Text on a terminal: its width, what fits, numbers, small curves, colors.

/// How many columns UTF-8 text takes on a terminal, whatever the trainer's locale is.
std::size_t display_width(const std::string& text);

/// The text without terminal control: control characters become "?", invalid UTF-8 "�".
std::string harmless(const std::string& text);

/// At most `width` columns: the middle gives way to "…".
std::string shortened(const std::string& text, std::size_t width);
/// The same, but the end gives way.
std::string shortened_end(const std::string& text, std::size_t width);
/// The same as the first for names that stand together: cut where most of them still differ.
std::vector<std::string> shortened(const std::vector<std::string>& names, std::size_t width);

/// Lines of at most `width` columns, broken between words; a word that is longer is cut.
std::vector<std::string> wrapped(const std::string& text, std::size_t width);

/// For a terminal that supports only ASCII: each other character becomes a similar one, or "?".
std::string ascii(const std::string& text);

/// Filled with blanks up to `width` columns. Longer text is not changed.
std::string left_aligned(const std::string& text, std::size_t width);
std::string right_aligned(const std::string& text, std::size_t width);

/// Four significant digits, "0.01234", "1.500e-07", "2.000"; or four decimals, "0.0123"; or a name, "NaN".
enum class Digits { significant, decimals };
std::string short_number(double value, Digits digits = Digits::significant);

enum class Scale {
  data,         ///< from the least to the largest value
  logarithmic,  ///< the same for the logarithms, if all values are positive
  unit          ///< from 0 to 1
};

/// One block a value, higher for larger; "×" for one that is not finite.
std::string sparkline(const std::vector<double>& values, Scale scale);
/// The same over several rows, the highest first; a value takes several columns if there are fewer than `width`.
std::vector<std::string> curve(const std::vector<double>& values, Scale scale, std::size_t width, std::size_t rows);

struct Layout {
  std::size_t width;    ///< columns of the terminal; no line is longer
  std::size_t rows;     ///< most rows a table; 0 for all
  std::size_t history;  ///< epochs in a sparkline; 0 for none
  bool color;
  std::size_t names;  ///< columns shared by the names of all tables
};

constexpr const char *bold = "1", *dim = "2", *red = "31;1", *yellow = "33", *green = "32";
/// The text in one of these colors, if the output has colors.
std::string colored(const std::string& text, const char* code, const Layout& layout);

/// How many columns text takes that `colored` may have made.
std::size_t visible_width(const std::string& text);

/// A line across the terminal with a title in it.
std::string heading(const std::string& title, const Layout& layout);

}  // namespace loupe::console
