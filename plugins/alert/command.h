#pragma once

#include <string>

namespace loupe {

/// How a command ended.
struct Ended {
  bool in_time;
  int exit_code;  ///< 128 plus the signal's number if a signal ended it
};
/// Runs a command of the user by `sh -c`, with `input` as its standard input and its output on stderr; kills it and its
/// children after `seconds`. Throws std::system_error.
Ended run_command(const std::string& command, const std::string& input, double seconds);

}  // namespace loupe
