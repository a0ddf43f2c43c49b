#ifndef LOUPE_COMMAND_COMMAND_LINE_ERROR_H
#define LOUPE_COMMAND_COMMAND_LINE_ERROR_H

#include <CLI/CLI.hpp>
#include <string>

namespace loupe {

/// What is wrong with a command line that CLI11 does not take, and what to do: a line for standard error.
std::string command_line_error(const CLI::App* app, const CLI::Error& error);

}  // namespace loupe

#endif
