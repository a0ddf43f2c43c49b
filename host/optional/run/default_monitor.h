#pragma once

#include "config/config.h"

namespace loupe {

/// The configuration that LOUPE_RUN_CONFIG names, or a default one, changed so that it cannot interfere with an unaware
/// program; a process that another one started writes into its own folder. Throws ConfigError.
/// @param has_modules  whether the program has modules: then the default configuration has lenses for their outputs
Config configuration_of_program(bool has_modules);

}  // namespace loupe
