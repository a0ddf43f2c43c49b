#pragma once

#include <cstddef>
#include <string>

#include "console/table.h"

namespace loupe::console {

struct Layout {
  std::size_t width;    ///< columns of the terminal; no line is longer
  std::size_t rows;     ///< most rows a table; 0 for all
  std::size_t history;  ///< epochs in a sparkline; 0 for none
  bool color;
  std::size_t names;  ///< columns that the names of all tables share, where a table has them
};

constexpr const char *bold = "1", *dim = "2", *red = "31;1", *yellow = "33", *green = "32";
/// In one of these, where the output has colors.
std::string colored(const std::string& text, const char* code, const Layout& layout);

/// How many columns text takes that `colored` may have made.
std::size_t visible_width(const std::string& text);

/// The columns that a table's names would like.
std::size_t name_width(const Table& table, const Layout& layout);

/// A line across the terminal with a title in it.
std::string heading(const std::string& title, const Layout& layout);

/// The table as lines. Where the width does not suffice, columns are left out from the right, and said so.
std::string rendered(const Table& table, const Layout& layout);

}  // namespace loupe::console
