#ifndef LOUPE_CONFIG_MAP_KEYS_H
#define LOUPE_CONFIG_MAP_KEYS_H

#include <yaml-cpp/yaml.h>

#include <string>
#include <vector>

#include "config/diagnostics.h"

namespace loupe {

/// Tells the keys of `map` that are not known, or stand twice. `where` ends the sentences: "at the top".
void check_keys(const YAML::Node& map, const std::vector<std::string>& known, const std::string& where,
                Diagnostics& diagnostics);

/// What the key has. yaml-cpp's word for one that is not there throws at most questions; this one is null.
YAML::Node value_of(const YAML::Node& map, const char* key);

/// What stands there, to name it in a sentence.
std::string shown(const YAML::Node& node);

}  // namespace loupe

#endif
