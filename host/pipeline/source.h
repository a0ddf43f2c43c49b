#pragma once

#include <loupe/abi.h>
#include <loupe/draft/abi/flags.h>
#include <loupe/event.h>
#include <loupe/internal/tally.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "core/lock_order.h"
#include "loader/component_instance.h"
#include "pipeline/lens_guard.h"

namespace loupe {

class GathererNode;
class ModuleNode;

}  // namespace loupe

/// See loupe/internal/tally.h. Any thread.
struct loupe_tally {
 public:
  /// Whether an event that was measured on the processor is usual; see loupe_tally.
  /// @param compares  the source asks for the change
  static bool is_usual(const loupe_event& event, const loupe_measurement& measured, bool compares) {
    constexpr uint32_t of_training = LOUPE_EVENT_TRAINING | LOUPE_EVENT_GRAD_ENABLED;
    const uint32_t asked = event.tap == LOUPE_TAP_FORWARD ? of_training : 0;
    return measured.nan_count == 0 && measured.inf_count == 0 && (!compares || loupe::has_change(measured)) &&
           (event.flags & (asked | LOUPE_DRAFT_EVENT_NOT_CLEARED)) == asked;
  }
  void add(const loupe_source& source, const loupe_measurement& measured);
  /// What came since the last call.
  loupe_tally_sums take();

 private:
  /// Held for a few additions, thousands of times a second: a mutex would take longer than what it guards.
  class Lock {
   public:
    void lock() {
      while (taken_.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
    }
    void unlock() { taken_.store(false, std::memory_order_release); }

   private:
    std::atomic<bool> taken_{false};
  };

  Lock lock_;
  loupe_tally_sums sums_{};
};

/// What the ABI calls a source: one preprocessor on one stream, for one lens.
struct loupe_source {
  loupe::LensGuard* guard = nullptr;
  loupe::ModuleMutex* mutex = nullptr;  // the module's
  std::string preprocessor;             // its name, for messages
  loupe::ComponentInstance owned;
  const loupe_preprocessor* table = nullptr;
  void* self = nullptr;
  loupe_request request{};
  uint64_t module_id = 0;
  uint64_t key = 0;     // see SourceState
  bool is_own = false;  // the preprocessor is the lens's
  loupe::ModuleNode* module = nullptr;
  loupe::GathererNode* gatherer = nullptr;  // before it; outlives it
  uint32_t rests = 0;                       // LOUPE_REST_ bits; under the module's mutex, with the next
  bool has_rested = false;                  // since the last tick
  loupe_tally* tally = nullptr;             // of its lens, which adds up what is usual

  /// Calls its preprocessor for the lens that reads it, while no event on another thread changes it.
  template <class Call>
  auto read(const char* function, Call&& call);
};
