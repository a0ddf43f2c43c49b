#ifndef LOUPE_PIPELINE_SOURCE_H
#define LOUPE_PIPELINE_SOURCE_H

#include <loupe/abi.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>

#include "plugins/component_instance.h"

namespace loupe {

/// Whether a lens may still be called, and what happens when it fails. One a lens, shared with its streams.
class LensGuard {
 public:
  /// @param plugin  its file  @param place  where the configuration names it: "monitor.yaml:4:5"
  /// @param quarantined  told once, with the message, on the thread of the failed call
  LensGuard(std::string lens, std::string plugin, std::string place, bool stop_on_error,
            std::function<void(const std::string&)> quarantined)
      : lens_(std::move(lens)),
        speaker_("the lens '" + lens_ + "'"),
        plugin_(std::move(plugin)),
        place_(std::move(place)),
        stop_on_error_(stop_on_error),
        told_(std::move(quarantined)) {}

  bool quarantined() const { return quarantined_.load(std::memory_order_relaxed); }
  /// Tells the user once, and keeps the lens from being called again. Throws Error instead under `on_error: stop`.
  void fault(const std::string& where, const std::string& what);
  const std::string& lens() const { return lens_; }
  /// "the lens 'x'"
  const char* speaker() const { return speaker_.c_str(); }

 private:
  std::string lens_, speaker_, plugin_, place_;
  bool stop_on_error_;
  std::function<void(const std::string&)> told_;
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
  loupe::Exclusive* calls = nullptr;  // of the gatherer's node, which outlives the source
};

#endif
