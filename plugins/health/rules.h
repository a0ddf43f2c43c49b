#ifndef LOUPE_PLUGINS_HEALTH_RULES_H
#define LOUPE_PLUGINS_HEALTH_RULES_H

#include <loupe/options.h>

#include <vector>

namespace loupe::health {

/// The names of all rules.
const Strings& rules();
/// Those that read single elements, and so say nothing of a model on a device.
const Strings& blind_on_devices();
/// The lens's options, which `loupe diagnose` reads too, from the configuration of a past run.
std::vector<Option> options();

}  // namespace loupe::health

#endif
