#ifndef LOUPE_COMMAND_DIAGNOSE_H
#define LOUPE_COMMAND_DIAGNOSE_H

#include <CLI/CLI.hpp>
#include <iosfwd>
#include <string>
#include <vector>

namespace loupe {

/// `loupe diagnose`: what was found to be wrong with past runs.
struct Diagnose {
  std::vector<std::string> records;
  bool as_json = false;

  CLI::App* add_to(CLI::App& app);
  /// What was left out at a record's end goes to `errors`. Returns whether no run ever had an error. Throws ConfigError
  /// for a wrong record, before anything is written.
  bool run(std::ostream& out, std::ostream& errors) const;
};

}  // namespace loupe

#endif
