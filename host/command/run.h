#ifndef LOUPE_COMMAND_RUN_H
#define LOUPE_COMMAND_RUN_H

#include <CLI/CLI.hpp>
#include <iosfwd>
#include <string>
#include <vector>

namespace loupe {

/// `loupe run`: another program, watched.
struct Run {
  std::string config, folder, follow = "yes";
  bool required = false;
  std::vector<std::string> program;  ///< with its arguments

  CLI::App* add_to(CLI::App& app);
  /// Takes the program and its arguments off the end of a command line, for they are nobody else's, whatever they look
  /// like. How many arguments are left.
  int take_program(int count, char** arguments);
  /// Becomes the program; returns only where it cannot, with the exit code of a shell: 126 or 127. Throws ConfigError
  /// for a configuration that is wrong, and UsageError where nothing can be watched and that is required.
  int run(std::ostream& errors) const;
};

}  // namespace loupe

#endif
