#include "loader/unloading.h"

#include <loupe/error.h>

#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include "core/log.h"
#include "loader/running_component.h"

namespace loupe {
namespace {

struct Life {
  std::mutex mutex;
  std::vector<const loupe_plugin*> plugins;
  std::size_t instances = 0;
  bool ending = false, unloaded = false;
};

/// Never destroyed: it is used while the process ends.
Life& life() {
  static auto* const life = new Life();
  return *life;
}

void unload(const loupe_plugin& plugin) {
  const std::string speaker = std::string("the plugin '") + plugin.name + "'";
  const RunningComponent running(speaker.c_str());
  try {
    plugin.unload();
  } catch (...) {
    log(LOUPE_LOG_ERROR, speaker + " threw an exception as it was unloaded, which must not be");
  }
}

void unload_when_unused() {
  std::vector<const loupe_plugin*> plugins;
  {
    const std::lock_guard lock(life().mutex);
    if (!life().ending || life().instances > 0) return;
    life().unloaded = true;
    plugins.swap(life().plugins);
  }
  for (auto plugin = plugins.rbegin(); plugin != plugins.rend(); ++plugin) unload(**plugin);
}

void end_of_process() {
  {
    const std::lock_guard lock(life().mutex);
    life().ending = true;
  }
  unload_when_unused();
}

}  // namespace

void unload_at_exit(const loupe_plugin& plugin) {
  if (!LOUPE_OFFERS(plugin, unload)) return;
  const std::lock_guard lock(life().mutex);
  life().plugins.push_back(&plugin);
  // Once more for each plugin: what is registered last runs first, so before the static objects of this plugin end.
  std::atexit(&end_of_process);
}

LivingInstance::LivingInstance() {
  const std::lock_guard lock(life().mutex);
  if (life().unloaded) throw Error("the process is ending, and its plugins are unloaded");
  ++life().instances;
}

LivingInstance::~LivingInstance() {
  {
    const std::lock_guard lock(life().mutex);
    --life().instances;
  }
  unload_when_unused();
}

}  // namespace loupe
