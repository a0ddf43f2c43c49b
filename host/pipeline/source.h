#ifndef LOUPE_PIPELINE_SOURCE_H
#define LOUPE_PIPELINE_SOURCE_H

#include <loupe/abi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "pipeline/lens_cost.h"
#include "plugins/component_instance.h"

namespace loupe {

class GathererNode;
class ModuleNode;

/// Whether a lens may still be called, and what happens when it fails. One a lens, shared with its streams.
class LensGuard {
 public:
  /// @param plugin  its file  @param place  where the configuration names it: "monitor.yaml:4:5"
  /// @param quarantined  told once, with the message, on the thread of the failed call
  /// @param every  it looks at every n-th tick
  LensGuard(std::string lens, std::string plugin, std::string place, int every, bool stop_on_error,
            std::function<void(const std::string&)> quarantined)
      : lens_(std::move(lens)),
        speaker_("the lens '" + lens_ + "'"),
        plugin_(std::move(plugin)),
        place_(std::move(place)),
        every_(every),
        stop_on_error_(stop_on_error),
        told_(std::move(quarantined)) {}

  bool quarantined() const { return (silence_.load(std::memory_order_relaxed) & kQuarantined) != 0; }
  /// Whether the present epoch is none of those that it looks at.
  bool resting() const { return (silence_.load(std::memory_order_relaxed) & kResting) != 0; }
  /// Whether the step that is on is none of those that it looks at, while others do.
  bool skipping() const { return (silence_.load(std::memory_order_relaxed) & kSkipping) != 0; }
  /// Either of these: no event of a step reaches it. What is pushed, and a tick, concern no step, and are not skipped.
  bool silent(bool of_a_step = true) const {
    const uint32_t heeded = of_a_step ? kQuarantined | kResting | kSkipping : kQuarantined | kResting;
    return (silence_.load(std::memory_order_relaxed) & heeded) != 0;
  }
  /// Returns whether that is new.
  bool rest(bool resting) {
    const uint32_t before = resting ? silence_.fetch_or(kResting) : silence_.fetch_and(~kResting);
    return ((before & kResting) != 0) != resting;
  }
  /// Returns whether that is new.
  bool skip(bool skipping) {
    if (skipping) has_skipped_.store(true, std::memory_order_relaxed);
    const uint32_t before = skipping ? silence_.fetch_or(kSkipping) : silence_.fetch_and(~kSkipping);
    return ((before & kSkipping) != 0) != skipping;
  }
  /// Whether it skipped steps since the last call of begin_epoch.
  bool has_skipped() const { return has_skipped_.load(std::memory_order_relaxed); }
  void begin_epoch() { has_skipped_.store(skipping(), std::memory_order_relaxed); }
  int every() const { return every_; }
  /// Tells the user once, and keeps the lens from being called again. Throws Error instead under `on_error: stop`.
  void fault(const std::string& where, const std::string& what);
  const std::string& lens() const { return lens_; }
  LensCost& cost() { return cost_; }
  const LensCost& cost() const { return cost_; }
  /// "the lens 'x'"
  const char* speaker() const { return speaker_.c_str(); }

 private:
  static constexpr uint32_t kQuarantined = 1, kResting = 2, kSkipping = 4;

  std::string lens_, speaker_, plugin_, place_;
  int every_;
  bool stop_on_error_;
  std::function<void(const std::string&)> told_;
  std::atomic<uint32_t> silence_{0};
  std::atomic<bool> has_skipped_{false};
  LensCost cost_;
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
  loupe::ModuleNode* module = nullptr;
  loupe::GathererNode* gatherer = nullptr;  // that it is behind, which outlives it
  uint32_t rests = 0;                       // LOUPE_REST_ bits; under the module's mutex, with the next
  bool has_rested = false;                  // since the last tick
  loupe_tally* tally = nullptr;             // of its lens, which adds up what is usual
};

#endif
