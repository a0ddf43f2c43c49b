#ifndef LOUPE_COMMAND_COMPARE_H
#define LOUPE_COMMAND_COMPARE_H

#include <CLI/CLI.hpp>
#include <iosfwd>
#include <string>
#include <vector>

#include "command/visualizer_choice.h"

namespace loupe {

/// `loupe compare`: several records to the same visualizers, one run after the other. The first run's files belong into
/// the folder itself, where `html` then shows all runs in one report; each other run has a folder in it, of its name.
struct Compare {
  std::vector<std::string> records;
  std::vector<std::string> names;
  VisualizerArguments visualizers;

  CLI::App* add_to(CLI::App& app);
  /// Where a run had findings, `out` gets a line a run with how many. What was left out at a record's end goes to
  /// `errors`. Throws UsageError, ConfigError for a wrong record, and
  /// Error when a visualizer fails.
  void run(const Catalogue& catalogue, std::ostream& out, std::ostream& errors) const;
};

/// Each run's name, with what tells its record's path from the others' behind it where names are equal.
std::vector<std::string> distinct_names(const std::vector<std::string>& names, const std::vector<std::string>& files);

}  // namespace loupe

#endif
