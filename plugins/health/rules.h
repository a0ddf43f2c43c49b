#ifndef LOUPE_PLUGINS_HEALTH_RULES_H
#define LOUPE_PLUGINS_HEALTH_RULES_H

#include <loupe/options.h>

#include <vector>

namespace loupe::health {

/// The names of all rules.
const Strings& rules();
/// Those that say nothing of layers on a device: they need to read elements, or to read them at once.
const Strings& blind_on_devices();
/// The lens's options, which `loupe diagnose` reads too, from the configuration of a past run.
std::vector<Option> options();

}  // namespace loupe::health

#endif
