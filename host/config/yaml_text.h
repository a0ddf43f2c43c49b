#ifndef LOUPE_CONFIG_YAML_TEXT_H
#define LOUPE_CONFIG_YAML_TEXT_H

#include <yaml-cpp/yaml.h>

#include <string>

#include "config/diagnostics.h"

namespace loupe {

/// What is written, as one document within the bounds of a configuration, merge keys resolved; null where nothing is.
/// Throws ConfigError where it is no YAML, or too much.
YAML::Node read_yaml(const std::string& text, Diagnostics& diagnostics);

}  // namespace loupe

#endif
