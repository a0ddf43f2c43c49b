#ifndef LOUPE_CORE_SOURCE_H
#define LOUPE_CORE_SOURCE_H

#include <loupe/abi.h>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>

#include "core/component_instance.h"

namespace loupe {

/// Whether a lens may still be called, and what happens when it fails. One a lens, shared with its streams.
class LensGuard {
 public:
  LensGuard(std::string lens, std::string plugin, bool stop_on_error)
      : lens_(std::move(lens)), plugin_(std::move(plugin)), stop_on_error_(stop_on_error) {}

  bool quarantined() const { return quarantined_.load(std::memory_order_relaxed); }
  /// Tells the user once, and keeps the lens from being called again. Throws Error instead under `on_error: stop`.
  void fault(const std::string& where, const std::string& what);
  const std::string& lens() const { return lens_; }

 private:
  std::string lens_, plugin_;
  bool stop_on_error_;
  std::atomic<bool> quarantined_{false};
};

}  // namespace loupe

/// What the ABI calls a source: one preprocessor on one stream, for one lens.
struct loupe_source {
  loupe::LensGuard* guard = nullptr;
  std::mutex* mutex = nullptr;  // the module's
  std::string preprocessor;     // its name, for messages
  loupe::ComponentInstance owned;
  const loupe_preprocessor* table = nullptr;
  void* self = nullptr;
  loupe_request request{};
  uint64_t module_id = 0;
};

#endif
