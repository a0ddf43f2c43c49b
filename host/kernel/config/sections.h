#pragma once

#include <yaml-cpp/yaml.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "options/diagnostics.h"
#include "options/option_set.h"

namespace loupe {

/// The options of the host itself, by section ("run", "attach"), declared as components declare theirs.
const std::vector<std::pair<std::string, OptionTable>>& host_sections();
/// The options of one of those sections, which must exist.
OptionTable host_section(std::string_view name);
/// The options that every lens has; a lens's own option of the same name takes precedence.
OptionTable lens_options();

/// Reads `tick` of the section `run`: epoch, {steps: n}, {steps: n, of: NAME} or {seconds: s}.
TickRule read_tick(const YAML::Node& run, Diagnostics& diagnostics);
/// The section without the values that only read_tick understands.
YAML::Node without_named_tick(const YAML::Node& run);
/// Reads `budget` of the section `attach`, such as 1%, as a share; 0 for off.
double read_budget(const YAML::Node& attach, Diagnostics& diagnostics);

/// Reads `ranks`: auto, off, or a map with store, timeout and show. Relative folders start at `folder`.
RankRule read_ranks(const YAML::Node& written, const std::string& folder, Diagnostics& diagnostics);

/// Fills the catalogue from the section `plugins`, then from the standard paths. Relative paths start at `folder`.
void read_plugins(const YAML::Node& plugins, const std::string& folder, Catalogue& catalogue, Diagnostics& diagnostics);

/// Reads a list of lenses or visualizers: finds each in the catalogue and checks its options. Faults go to
/// `diagnostics`, which calls the list `section`.
std::vector<ComponentConfig> read_components(const YAML::Node& list, Kind kind, const std::string& section,
                                             const Catalogue& catalogue, Diagnostics& diagnostics);

}  // namespace loupe
