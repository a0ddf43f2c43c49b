#pragma once

#include <yaml-cpp/yaml.h>

#include <cstddef>
#include <string>
#include <vector>

#include "core/shared.h"
#include "options/diagnostics.h"

namespace loupe {

/// Bounds of a configuration: far more than anyone writes, and checked within a second.
constexpr std::size_t max_yaml_bytes = 1 << 20;
constexpr std::size_t max_yaml_depth = 100;
/// Keys, values and lists; an alias (*name) counts with its content.
constexpr std::size_t max_yaml_nodes = 20'000;

/// Refuses text that exceeds these bounds, has a second document, or has an alias within its own anchor. Throws
/// ConfigError with the first such fault, and YAML::Exception if the text is not YAML.
void check_yaml_bounds(const std::string& text, Diagnostics& diagnostics);

/// Reads one document within these bounds and resolves its merge keys; null for an empty text. Throws ConfigError.
LOUPE_SHARED YAML::Node read_yaml(const std::string& text, Diagnostics& diagnostics);

/// Reports keys of `map` that are unknown or repeated. `where` ends the sentences: "at the top".
void check_keys(const YAML::Node& map, const std::vector<std::string>& known, const std::string& where,
                Diagnostics& diagnostics);

/// The value of a key; null without it or without a map, where yaml-cpp returns a node that throws at most calls.
YAML::Node value_of(const YAML::Node& map, const char* key);

}  // namespace loupe
