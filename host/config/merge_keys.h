#ifndef LOUPE_CONFIG_MERGE_KEYS_H
#define LOUPE_CONFIG_MERGE_KEYS_H

#include <yaml-cpp/yaml.h>

#include "config/diagnostics.h"

namespace loupe {

/// Puts into each map what its merge key (`<<: *name`, or a list of such) stands for; the map's own keys win, then the
/// first of the list. In place, as aliases share their nodes. `root` must be within the bounds of a configuration.
void resolve_merge_keys(YAML::Node root, Diagnostics& diagnostics);

}  // namespace loupe

#endif
