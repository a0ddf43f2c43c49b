#pragma once

#include <loupe/abi.h>

#include <string>
#include <vector>

namespace loupe {

/// A plugin that is loaded, or linked into the program, and checked.
struct PluginLibrary {
  std::string file;  ///< the file, or a description if there is none
  std::string path;  ///< the file; empty if linked into the program
  const loupe_plugin* plugin = nullptr;
  uint32_t abi_major = 0, abi_minor = 0;
};

/// "1.0"
std::string version_text(uint32_t major, uint32_t minor);

/// Checks an entry and asks it for its plugin. `file`: the origin of the entry. Throws Error naming the file, what is
/// wrong and what to do.
PluginLibrary read_entry(const loupe_entry& entry, const std::string& file);

/// Loads a plugin (now, locally) and checks its entry. A file is loaded once a process and never unloaded: programs
/// with LibTorch crash on unloading. Refuses a file that was cut short, which would kill the process. Throws Error
/// naming the file, what is wrong and what to do.
const PluginLibrary& load_plugin(const std::string& file);

/// The plugins that the program registered so far, in order. They are never destroyed. Any thread.
std::vector<const PluginLibrary*> registered_plugins();

}  // namespace loupe
