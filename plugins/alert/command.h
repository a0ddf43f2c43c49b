#pragma once

#include <string>

namespace loupe {

/// How a command ended.
struct Ended {
  bool in_time;
  int exit_code;  ///< 128 and the signal's number where one ended it
};
/// Runs a command of the user's by `sh -c`, with `input` as its standard input and its output beside the messages;
/// kills it, and what it started, after `seconds`. Throws std::system_error.
Ended run_command(const std::string& command, const std::string& input, double seconds);

}  // namespace loupe
