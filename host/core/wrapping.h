#pragma once

#include <cstddef>
#include <optional>
#include <ostream>
#include <streambuf>
#include <string>

namespace loupe {

/// How many columns the terminal at a descriptor has; nothing where it is none.
std::optional<std::size_t> terminal_columns(int descriptor);
/// The same of standard output; where that is no terminal, what the variable COLUMNS says.
std::optional<std::size_t> output_columns();

/// How many columns UTF-8 text takes, each code point one.
std::size_t columns_of(const std::string& text);
/// At most so many columns of UTF-8 text: the end gives way to "…".
std::string shortened_end(const std::string& text, std::size_t columns);

/// A line as lines of at most `columns`, broken between words; a longer word stays whole. The further lines begin below
/// the last column of a list ("name  type  text"), else a little to the right of the first.
std::string wrapped_line(const std::string& line, std::size_t columns);

/// Passes lines on to another stream, printable() and wrapped: all that a command prints goes through one. What has no
/// line end yet waits for it. Where no number of columns is given, nothing is wrapped.
class WrappedOutput : private std::streambuf, public std::ostream {
 public:
  /// @param to outlives this
  WrappedOutput(std::ostream& to, std::optional<std::size_t> columns)
      : std::ostream(this), to_(to), columns_(columns) {}
  ~WrappedOutput() override;
  WrappedOutput(const WrappedOutput&) = delete;
  WrappedOutput& operator=(const WrappedOutput&) = delete;

 private:
  std::streambuf::int_type overflow(std::streambuf::int_type letter) override;
  int sync() override;
  std::string shown() const;

  std::ostream& to_;
  std::optional<std::size_t> columns_;
  std::string line_;
};

}  // namespace loupe
