#include "loader/plugin_library.h"

#include <algorithm>
#include <deque>
#include <mutex>

#include "loupe/register_plugin.h"

namespace loupe {
namespace {

struct Registered {
  const loupe_entry* entry;
  PluginLibrary library;
};

std::mutex registered_mutex;

/// Never destroyed: a trainer's static objects may still use them.
std::deque<Registered>& registered() {
  static auto* const all = new std::deque<Registered>();
  return *all;
}

}  // namespace

void register_plugin(const loupe_entry& entry) {
  const std::lock_guard lock(registered_mutex);
  auto& all = registered();
  if (std::any_of(all.begin(), all.end(), [&](const Registered& each) { return each.entry == &entry; })) return;
  PluginLibrary library = read_entry(entry, "a plugin linked into this program");
  library.file = std::string(library.plugin->name) + " (linked into this program)";
  all.push_back({&entry, std::move(library)});
}

std::vector<const PluginLibrary*> registered_plugins() {
  const std::lock_guard lock(registered_mutex);
  std::vector<const PluginLibrary*> libraries;
  for (const Registered& each : registered()) libraries.push_back(&each.library);
  return libraries;
}

}  // namespace loupe
