#pragma once

#include "config/config.h"

namespace loupe {

/// The configuration that LOUPE_RUN_CONFIG names, or a default one, changed so that it cannot interfere with a program
/// that does not know of it; a process that another one started writes into its own folder. Throws ConfigError.
/// @param has_modules  whether the program has any: the default one has lenses for what these give
Config configuration_of_program(bool has_modules);

}  // namespace loupe
