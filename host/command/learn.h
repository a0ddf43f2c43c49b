#ifndef LOUPE_COMMAND_LEARN_H
#define LOUPE_COMMAND_LEARN_H

#include <CLI/CLI.hpp>
#include <iosfwd>
#include <string>
#include <vector>

namespace loupe {

/// `loupe learn`: what the series of good runs are between, for later runs to be compared with.
struct Learn {
  std::vector<std::string> records;
  std::string file;

  CLI::App* add_to(CLI::App& app);
  /// What is odd about the records goes to `errors`. Throws ConfigError for a wrong record, UsageError where nothing
  /// can be learned, and std::system_error when the file cannot be written; nothing is written then.
  void run(std::ostream& out, std::ostream& errors) const;
};

}  // namespace loupe

#endif
