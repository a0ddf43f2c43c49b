#ifndef LOUPE_COMMAND_CHECK_H
#define LOUPE_COMMAND_CHECK_H

#include <CLI/CLI.hpp>
#include <iosfwd>
#include <string>
#include <vector>

namespace loupe {

/// `loupe check`: holds plugin files to the rules of the boundary.
struct Check {
  std::vector<std::string> files;
  bool as_json = false, only_rules = false;
  double seconds = 10;

  CLI::App* add_to(CLI::App& app);
  /// Returns whether every rule is kept. Throws UsageError for a file that is not there.
  bool run(std::ostream& out) const;
};

}  // namespace loupe

#endif
