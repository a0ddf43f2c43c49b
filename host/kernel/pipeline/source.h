#pragma once

#include <loupe/abi.h>
#include <loupe/draft/abi/flags.h>
#include <loupe/event.h>
#include <loupe/internal/tally.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "core/locks.h"
#include "loader/component_instance.h"

namespace loupe {

/// Chooses the events of a stream to time: the first few of an epoch, then one in the middle of the next 4, 8, 16 and
/// 32, then of each 64, which stands for the others. Timing all would cost too much.
class TimedEvents {
 public:
  /// The number of events that the next one represents; 0 if not timed.
  uint32_t next() {
    const uint32_t number = count_++;
    if (number < exact) return 1;
    if (number >= period) return number % period == period / 2 ? period : 0;
    constexpr uint32_t middles[] = {6, 12, 24, 48};  // the middle of the ranges that start at 4, 8, 16, 32
    for (const uint32_t middle : middles) {
      if (number == middle) return middle / 3 * 2;
    }
    return 0;
  }
  void begin_epoch() { count_ = 0; }

 private:
  static constexpr uint32_t exact = 4, period = 64;
  uint32_t count_ = 0;
};

/// The usual time of an event in a lens; limits a measurement that the machine interrupted, before it is multiplied.
class UsualTime {
 public:
  /// Returns the time of `stood_for` events, one of which took `seconds`.
  double of(double seconds, uint32_t stood_for) {
    if (stood_for > 1 && usual_ > 0) seconds = std::min(seconds, 4 * usual_);
    usual_ = usual_ > 0 ? 0.75 * usual_ + 0.25 * seconds : seconds;
    return seconds * stood_for;
  }

 private:
  double usual_ = 0;
};

/// The time that a lens takes. `judge` is called on the thread that ticks, the rest on any.
class LensCost {
 public:
  void spend(double seconds) { nanoseconds_.fetch_add(static_cast<int64_t>(seconds * 1e9), std::memory_order_relaxed); }
  /// The time since the last tick.
  double seconds() const { return static_cast<double>(nanoseconds_.load(std::memory_order_relaxed)) * 1e-9; }
  /// Call at the end of each tick at which the lens reported. Returns a warning for the user, once, if the lens was
  /// slow at two reports in a row: a single one may have been interrupted.
  /// @param wall  seconds since the last tick
  std::optional<std::string> judge(const std::string& lens, double wall);

 private:
  std::atomic<int64_t> nanoseconds_{0};  // since the last tick
  bool was_slow_ = false, told_ = false;
};

/// Whether a lens may be called, and what happens when it fails. Shared by the sources of the lens.
class LensGuard {
 public:
  /// @param plugin  its file  @param place  its place in the configuration: "monitor.yaml:4:5"
  /// @param quarantined  called once, with the message, on the thread of the failed call
  /// @param every  it measures every n-th tick
  LensGuard(std::string lens, std::string plugin, std::string place, int every, bool stop_on_error,
            std::function<void(const std::string&)> quarantined)
      : lens_(std::move(lens)),
        speaker_("the lens '" + lens_ + "'"),
        plugin_(std::move(plugin)),
        place_(std::move(place)),
        every_(every),
        stop_on_error_(stop_on_error),
        told_(std::move(quarantined)) {}

  bool quarantined() const { return (state_.load(std::memory_order_relaxed) & kQuarantined) != 0; }
  /// Whether it rests in this epoch.
  bool resting() const { return (state_.load(std::memory_order_relaxed) & kResting) != 0; }
  /// False if it rests or is quarantined.
  bool accepts_events() const { return state_.load(std::memory_order_relaxed) == 0; }
  /// Returns whether that changed.
  bool rest(bool resting) {
    const uint32_t before = resting ? state_.fetch_or(kResting) : state_.fetch_and(~kResting);
    return ((before & kResting) != 0) != resting;
  }
  int every() const { return every_; }
  /// Logs the fault once and quarantines the lens. Throws Error instead under `on_error: stop`.
  void fault(const std::string& where, const std::string& what);
  const std::string& lens() const { return lens_; }
  LensCost& cost() { return cost_; }
  const LensCost& cost() const { return cost_; }
  /// "the lens 'x'"
  const char* speaker() const { return speaker_.c_str(); }

 private:
  static constexpr uint32_t kQuarantined = 1, kResting = 2;

  std::string lens_, speaker_, plugin_, place_;
  int every_;
  bool stop_on_error_;
  std::function<void(const std::string&)> told_;
  std::atomic<uint32_t> state_{0};
  LensCost cost_;
};

class GathererNode;

}  // namespace loupe

/// See loupe/internal/tally.h. Any thread.
struct loupe_tally {
 public:
  /// Whether an event that was measured on the CPU is usual; see loupe_tally.
  /// @param compares  the source asks for the change
  static bool is_usual(const loupe_event& event, const loupe_measurement& measured, bool compares) {
    constexpr uint32_t of_training = LOUPE_EVENT_TRAINING | LOUPE_EVENT_GRAD_ENABLED;
    const uint32_t asked = event.tap == LOUPE_TAP_FORWARD ? of_training : 0;
    return measured.nan_count == 0 && measured.inf_count == 0 && (!compares || loupe::has_change(measured)) &&
           (event.flags & (asked | LOUPE_DRAFT_EVENT_NOT_CLEARED)) == asked;
  }
  void add(const loupe_source& source, const loupe_measurement& measured);
  /// Returns and resets the sums.
  loupe_tally_sums take();

 private:
  /// A spin lock: it is held for a few additions, thousands of times a second, and is faster than a mutex.
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

/// A source of the ABI: one preprocessor on one stream, for one lens.
struct loupe_source {
  loupe::LensGuard* guard = nullptr;
  loupe::ModuleMutex* mutex = nullptr;  // the module's
  std::string preprocessor;             // its name; "its own" if it is the lens's
  loupe::ComponentInstance owned;
  const loupe_preprocessor* table = nullptr;
  void* self = nullptr;
  loupe_request request{};
  uint64_t module_id = 0;
  uint64_t key = 0;                         // see SourceState
  bool is_own = false;                      // the preprocessor is the lens's
  loupe::GathererNode* gatherer = nullptr;  // the gatherer before it, which outlives it
  uint32_t rests = 0;                       // LOUPE_REST_ bits; under the module's mutex, with the next
  bool has_rested = false;                  // it rested since the last tick
  loupe_tally* tally = nullptr;             // the tally of its lens, which adds up usual events

  std::string speaker() const { return is_own ? "its own preprocessor" : "its preprocessor '" + preprocessor + "'"; }
  /// Calls its preprocessor for the lens that reads it, under the module's lock.
  template <class Call>
  auto read(const char* function, Call&& call);
};
