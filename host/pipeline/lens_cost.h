#ifndef LOUPE_PIPELINE_LENS_COST_H
#define LOUPE_PIPELINE_LENS_COST_H

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

namespace loupe {

/// Which of a stream's events are timed, so that timing costs next to nothing: the first few of an epoch, and from then
/// on every sixty-fourth, which stands for as many.
class TimedEvents {
 public:
  /// How many events the next one stands for; 0: it is not timed.
  uint32_t next() {
    const uint32_t number = count_++;
    if (number < exact) return 1;
    return number % period == 0 ? period : 0;
  }
  void begin_epoch() { count_ = 0; }

 private:
  static constexpr uint32_t exact = 4, period = 64;
  uint32_t count_ = 0;
};

/// What one of those that take a stream's events usually needs. One measurement that the machine interrupted is not
/// multiplied.
class UsualTime {
 public:
  /// What `stood_for` events took, of which one took so long.
  double of(double seconds, uint32_t stood_for) {
    if (stood_for > 1 && usual_ > 0) seconds = std::min(seconds, 4 * usual_);
    usual_ = usual_ > 0 ? 0.75 * usual_ + 0.25 * seconds : seconds;
    return seconds * stood_for;
  }

 private:
  double usual_ = 0;
};

/// What a lens has cost. Spending is for any thread, the rest for the one that ticks.
class LensCost {
 public:
  /// @param in_a_step  it would not have, had the step not been looked at
  void spend(double seconds, bool in_a_step) {
    const auto nanoseconds = static_cast<int64_t>(seconds * 1e9);
    nanoseconds_.fetch_add(nanoseconds, std::memory_order_relaxed);
    if (in_a_step) in_steps_.fetch_add(nanoseconds, std::memory_order_relaxed);
  }
  /// What it took of the steps that were looked at; what was before the last tick counts half, and so on.
  double seconds_in_steps() const { return static_cast<double>(in_steps_.load(std::memory_order_relaxed)) * 1e-9; }
  /// At the end of each tick.
  void fade() { in_steps_.fetch_sub(in_steps_.load(std::memory_order_relaxed) / 2, std::memory_order_relaxed); }
  /// At the end of each tick that the lens reported at: what to tell the user, once, of a lens that is slow. It has to
  /// be so at two reports in a row, since a single one may have been interrupted.
  /// @param wall  seconds since the last tick
  std::optional<std::string> judge(const std::string& lens, double wall);

 private:
  std::atomic<int64_t> nanoseconds_{0};  // since the last tick
  std::atomic<int64_t> in_steps_{0};
  bool was_slow_ = false, told_ = false;
};

}  // namespace loupe

#endif
