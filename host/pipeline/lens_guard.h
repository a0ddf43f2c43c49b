#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace loupe {

/// Which of a stream's events are timed: the first few of an epoch, then one in the middle of the next 4, 8, 16 and 32,
/// then of each 64, which stands for the others. Timing all of them would cost too much.
class TimedEvents {
 public:
  /// How many events the next one stands for; 0: it is not timed.
  uint32_t next() {
    const uint32_t number = count_++;
    if (number < exact) return 1;
    if (number >= period) return number % period == period / 2 ? period : 0;
    constexpr uint32_t middles[] = {6, 12, 24, 48};  // of those from 4, 8, 16 and 32 on
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

/// How long an event usually takes a lens. Limits a measurement that the machine interrupted, before it is multiplied.
class UsualTime {
 public:
  /// Returns the time of `stood_for` events, one of which was timed and took `seconds`.
  double of(double seconds, uint32_t stood_for) {
    if (stood_for > 1 && usual_ > 0) seconds = std::min(seconds, 4 * usual_);
    usual_ = usual_ > 0 ? 0.75 * usual_ + 0.25 * seconds : seconds;
    return seconds * stood_for;
  }

 private:
  double usual_ = 0;
};

/// The time that a lens has taken. `judge` is called on the thread that ticks, the rest on any.
class LensCost {
 public:
  void spend(double seconds) { nanoseconds_.fetch_add(static_cast<int64_t>(seconds * 1e9), std::memory_order_relaxed); }
  /// Since the last tick.
  double seconds() const { return static_cast<double>(nanoseconds_.load(std::memory_order_relaxed)) * 1e-9; }
  /// At the end of each tick at which the lens reported: a warning for the user, once, if it is slow. It has to be slow
  /// at two reports in a row, since a single one may have been interrupted.
  /// @param wall  seconds since the last tick
  std::optional<std::string> judge(const std::string& lens, double wall);

 private:
  std::atomic<int64_t> nanoseconds_{0};  // since the last tick
  bool was_slow_ = false, told_ = false;
};

/// Whether a lens may be called, and what happens when it fails. Each lens has one, which its sources share.
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

  bool quarantined() const { return (state_.load(std::memory_order_relaxed) & kQuarantined) != 0; }
  /// Whether it looks at nothing in the present epoch.
  bool resting() const { return (state_.load(std::memory_order_relaxed) & kResting) != 0; }
  /// Whether it neither rests nor is quarantined.
  bool accepts_events() const { return state_.load(std::memory_order_relaxed) == 0; }
  /// Returns whether that is new.
  bool rest(bool resting) {
    const uint32_t before = resting ? state_.fetch_or(kResting) : state_.fetch_and(~kResting);
    return ((before & kResting) != 0) != resting;
  }
  int every() const { return every_; }
  /// Tells the user once, and keeps the lens from being called again. Throws Error instead under `on_error: stop`.
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

}  // namespace loupe
