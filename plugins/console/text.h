#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace loupe::console {

// Text for terminals: its width, shortening, numbers, small curves, colors.

/// The number of columns that UTF-8 text takes on a terminal, in any locale of the trainer.
std::size_t display_width(const std::string& text);

/// The text without terminal control: control characters become "?", invalid UTF-8 "�".
std::string harmless(const std::string& text);

/// Shortens to at most `width` columns: "…" replaces the middle.
std::string shortened(const std::string& text, std::size_t width);
/// The same, but "…" replaces the end.
std::string shortened_end(const std::string& text, std::size_t width);
/// Shortens several names together: cuts them where most of them still differ.
std::vector<std::string> shortened(const std::vector<std::string>& names, std::size_t width);

/// Lines of at most `width` columns, broken between words; longer words are cut.
std::vector<std::string> wrapped(const std::string& text, std::size_t width);
/// The same, at most `rows` lines; "…" ends a text that was cut.
std::vector<std::string> wrapped(const std::string& text, std::size_t width, std::size_t rows);

/// For a terminal that supports only ASCII: each other character becomes a similar one, or "?".
std::string ascii(const std::string& text);

/// Adds blanks up to `width` columns. Longer text is not changed.
std::string left_aligned(const std::string& text, std::size_t width);
std::string right_aligned(const std::string& text, std::size_t width);

/// Four significant digits: "0.01234", "1.500e-07", "2.000"; or four decimals: "0.0123"; or a name: "NaN".
enum class Digits { significant, decimals };
std::string short_number(double value, Digits digits = Digits::significant);
/// The same without zeros at the end, for numbers that people chose: "0.001", "2e-05".
std::string shortest_number(double value);

enum class Scale {
  data,         ///< from the least to the largest value; flat if they differ by less than 1e-4 of their size
  logarithmic,  ///< the same for the logarithms, if all values are positive
  unit          ///< from 0 to 1
};

/// One block per value, higher for larger values; "×" for values that are not finite.
std::string sparkline(const std::vector<double>& values, Scale scale);
/// The same over several rows, the highest row first; if there are fewer values than `width`, each takes several
/// columns.
std::vector<std::string> curve(const std::vector<double>& values, Scale scale, std::size_t width, std::size_t rows);

struct Layout {
  std::size_t width;    ///< columns of the terminal; no line is longer
  std::size_t rows;     ///< at most this many rows per table; 0 for all
  std::size_t history;  ///< epochs in a sparkline; 0 for none
  bool color;
  std::size_t names;  ///< columns shared by the names of all tables
};

constexpr const char *bold = "1", *dim = "2", *red = "31;1", *yellow = "33", *green = "32";
/// The text in one of these colors, if the output has colors.
std::string colored(const std::string& text, const char* code, const Layout& layout);

/// The number of columns of text that colored() may have made.
std::size_t visible_width(const std::string& text);

/// A line across the terminal with a title in it.
std::string heading(const std::string& title, const Layout& layout);

}  // namespace loupe::console
