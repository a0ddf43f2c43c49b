#pragma once

#include <cstddef>
#include <optional>
#include <ostream>
#include <streambuf>
#include <string>

namespace loupe {

/// The columns of the terminal at standard output, or the variable COLUMNS.
std::optional<std::size_t> output_columns();

/// UTF-8 text cut to `columns`: "…" replaces the end.
std::string shortened_end(const std::string& text, std::size_t columns);

/// Passes lines on to another stream, printable() and wrapped: all that a command prints goes through one. An
/// unfinished line waits for its end. Without a number of columns nothing is wrapped.
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
