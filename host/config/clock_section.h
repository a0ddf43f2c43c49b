#ifndef LOUPE_CONFIG_CLOCK_SECTION_H
#define LOUPE_CONFIG_CLOCK_SECTION_H

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <string>

#include "config/diagnostics.h"

namespace loupe {

/// When a tick comes, as `run.tick` says.
struct TickRule {
  enum class By { epoch, steps, seconds };
  By by = By::epoch;
  uint64_t steps = 0;
  double seconds = 0;
  std::string of;  ///< whose optimizer's steps count, by its model's name; empty: the first attached

  bool is_automatic() const { return by != By::epoch; }
  /// "500 steps", "30 seconds", "epoch".
  std::string words() const;
};

/// Reads `tick` of the section `run`: epoch, {steps: n}, {steps: n, of: NAME} or {seconds: s}.
TickRule read_tick(const YAML::Node& run, Diagnostics& diagnostics);
/// The section without what only read_tick understands.
YAML::Node without_named_tick(const YAML::Node& run);
/// Reads `budget` of the section `attach`, such as 1%, as a share; 0 where there is none.
double read_budget(const YAML::Node& attach, Diagnostics& diagnostics);

}  // namespace loupe

#endif
