#ifndef LOUPE_CONFIG_HOST_SECTIONS_H
#define LOUPE_CONFIG_HOST_SECTIONS_H

#include <string>
#include <utility>
#include <vector>

#include "config/option_set.h"

namespace loupe {

/// The options that the host itself reads, by section ("run", "attach"), declared as components declare theirs.
const std::vector<std::pair<std::string, OptionTable>>& host_sections();
/// Those that every lens has, whatever it declares; a lens's own option of the same name goes before.
OptionTable lens_options();

}  // namespace loupe

#endif
