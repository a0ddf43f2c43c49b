#ifndef LOUPE_PLUGINS_REGISTERED_H
#define LOUPE_PLUGINS_REGISTERED_H

#include <vector>

#include "plugins/plugin_library.h"

namespace loupe {

/// The plugins that the program registered so far, in that order. They live for good. Any thread.
std::vector<const PluginLibrary*> registered_plugins();

}  // namespace loupe

#endif
