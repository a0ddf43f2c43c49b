#ifndef LOUPE_LOADER_UNLOADING_H
#define LOUPE_LOADER_UNLOADING_H

#include <loupe/abi.h>

namespace loupe {

/// Calls the plugin's `unload`, where it has one, once: when the process ends by exit() or a return from main, and no
/// instance of any component is left. Plugins that came last go first. Any thread.
void unload_at_exit(const loupe_plugin& plugin);

/// Stands for one instance of a component, from before it is created until after it is destroyed. Any thread.
class LivingInstance {
 public:
  /// Throws Error when the plugins were unloaded already.
  LivingInstance();
  ~LivingInstance();
  LivingInstance(const LivingInstance&) = delete;
  LivingInstance& operator=(const LivingInstance&) = delete;
};

}  // namespace loupe

#endif
