#ifndef LOUPE_CORE_PLUGIN_LIBRARY_H
#define LOUPE_CORE_PLUGIN_LIBRARY_H

#include <loupe/abi.h>

#include <string>

namespace loupe {

/// A plugin file that is loaded and understood.
struct PluginLibrary {
  std::string file;
  const loupe_plugin* plugin = nullptr;
  uint32_t abi_major = 0, abi_minor = 0;
};

/// "1.0"
std::string version_text(uint32_t major, uint32_t minor);

/// Loads a plugin (now, locally) and checks its entry. A file is loaded once a process and never unloaded: programs
/// with LibTorch crash on unloading. Throws Error naming the file, what is wrong and what to do.
const PluginLibrary& load_plugin(const std::string& file);

}  // namespace loupe

#endif
