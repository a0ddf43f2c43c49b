#pragma once

#include <CLI/CLI.hpp>
#include <stdexcept>
#include <string>

namespace loupe {

/// The command line asks for what cannot be done; what() is one sentence.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Why CLI11 refused a command line, and what to do: a line for standard error.
std::string command_line_error(const CLI::App* app, const CLI::Error& error);

}  // namespace loupe
