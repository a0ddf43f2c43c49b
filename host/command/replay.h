#ifndef LOUPE_COMMAND_REPLAY_H
#define LOUPE_COMMAND_REPLAY_H

#include <CLI/CLI.hpp>
#include <iosfwd>
#include <string>

#include "command/visualizer_choice.h"

namespace loupe {

/// `loupe replay`: one record to visualizers, as if its run took place again, or an incident as text.
struct Replay {
  std::string record;
  VisualizerArguments visualizers;

  CLI::App* add_to(CLI::App& app);
  /// An incident goes to `out`, what was left out at the record's end to `errors`. Throws UsageError, ConfigError for a
  /// wrong record or incident, and Error when a visualizer fails.
  void run(const Catalogue& catalogue, std::ostream& out, std::ostream& errors) const;
};

}  // namespace loupe

#endif
