#ifndef LOUPE_CONFIG_COMPONENTS_H
#define LOUPE_CONFIG_COMPONENTS_H

#include <yaml-cpp/yaml.h>

#include <string>
#include <vector>

#include "config/config.h"
#include "config/diagnostics.h"

namespace loupe {

/// The lenses or visualizers of a list in YAML, each found in the catalogue and with its options checked. What is wrong
/// goes to `diagnostics`; `section` names the list there.
std::vector<ComponentConfig> read_components(const YAML::Node& list, Kind kind, const std::string& section,
                                             const Catalogue& catalogue, Diagnostics& diagnostics);

}  // namespace loupe

#endif
