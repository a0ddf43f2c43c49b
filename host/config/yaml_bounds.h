#ifndef LOUPE_CONFIG_YAML_BOUNDS_H
#define LOUPE_CONFIG_YAML_BOUNDS_H

#include <cstddef>
#include <string>

#include "config/diagnostics.h"

namespace loupe {

/// What a configuration may hold. Far more than anyone writes, and little enough to be read and checked within a
/// second.
constexpr std::size_t max_yaml_bytes = 1 << 20;
constexpr std::size_t max_yaml_depth = 100;
/// Keys, values and lists; what an alias (*name) stands for counts each time.
constexpr std::size_t max_yaml_nodes = 20'000;

/// Reads `text` without keeping anything, and refuses what has no end or is out of all proportion: more bytes, nodes or
/// depth than above, a second document, an alias inside of what it names. Throws ConfigError with the first such fault,
/// and YAML::Exception where the text is no YAML.
void check_yaml_bounds(const std::string& text, Diagnostics& diagnostics);

}  // namespace loupe

#endif
