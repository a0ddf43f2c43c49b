#ifndef LOUPE_RUN_DEFAULT_MONITOR_H
#define LOUPE_RUN_DEFAULT_MONITOR_H

#include "config/config.h"

namespace loupe {

/// The configuration that LOUPE_RUN_CONFIG names, or a default one, changed so that it cannot interfere with a program
/// that does not know of it; a process that another one started writes into a folder of its own. Throws ConfigError.
Config configuration_of_program();

}  // namespace loupe

#endif
