#ifndef LOUPE_CONFIG_PLUGIN_SECTION_H
#define LOUPE_CONFIG_PLUGIN_SECTION_H

#include <yaml-cpp/yaml.h>

#include <string>

#include "config/diagnostics.h"
#include "plugins/catalogue.h"

namespace loupe {

/// Fills the catalogue from the section `plugins`, then from the standard paths. Relative paths start at `folder`.
void read_plugins(const YAML::Node& plugins, const std::string& folder, Catalogue& catalogue, Diagnostics& diagnostics);

}  // namespace loupe

#endif
