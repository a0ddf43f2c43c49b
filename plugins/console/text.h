#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace loupe::console {

/// How many columns UTF-8 text takes on a terminal, whatever the trainer's locale is.
std::size_t display_width(const std::string& text);

/// The text without what would steer a terminal: control characters become "?", bytes that are no UTF-8 "�".
std::string harmless(const std::string& text);

/// At most `width` columns: the middle gives way to "…".
std::string shortened(const std::string& text, std::size_t width);
/// The same where the end gives way.
std::string shortened_end(const std::string& text, std::size_t width);
/// The same as the first for names that stand together: cut where most of them still differ.
std::vector<std::string> shortened(const std::vector<std::string>& names, std::size_t width);

/// Lines of at most `width` columns, broken between words; a word that is longer is cut.
std::vector<std::string> wrapped(const std::string& text, std::size_t width);

/// For a terminal that knows nothing else: each column that is no ASCII becomes what looks most like it, or "?".
std::string ascii(const std::string& text);

/// Filled with blanks up to `width` columns. Longer text stays as it is.
std::string left_aligned(const std::string& text, std::size_t width);
std::string right_aligned(const std::string& text, std::size_t width);

/// Four significant digits, "0.01234", "1.500e-07", "2.000"; or four decimals, "0.0123"; or a name, "NaN".
enum class Digits { significant, decimals };
std::string short_number(double value, Digits digits = Digits::significant);

}  // namespace loupe::console
