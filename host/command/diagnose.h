#ifndef LOUPE_COMMAND_DIAGNOSE_H
#define LOUPE_COMMAND_DIAGNOSE_H

#include <CLI/CLI.hpp>
#include <iosfwd>
#include <string>
#include <vector>

namespace loupe {

/// `loupe diagnose`: what was found to be wrong with past runs, and what the rules say of their values.
struct Diagnose {
  std::vector<std::string> records;
  std::string baseline;  ///< a file that `loupe learn` wrote; empty for none
  bool as_json = false;

  CLI::App* add_to(CLI::App& app);
  /// What was left out at a record's end goes to `errors`. Returns whether no run ever had an error. Throws ConfigError
  /// for a wrong record or baseline, before anything is written.
  bool run(std::ostream& out, std::ostream& errors) const;
};

}  // namespace loupe

#endif
