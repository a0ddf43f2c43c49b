#pragma once

#include <algorithm>
#include <cstddef>

namespace loupe::html {

/// Decides at which ticks the whole report is written, so that the cost does not grow with the square of the run's
/// length. A small report is written at every tick. A larger one is skipped while writing it would take more than a
/// twentieth of the run's time, but never for more than 20 ticks in a row, or a twentieth of all ticks if those are
/// more.
class Pace {
 public:
  /// Called at each tick. @param seconds since the last write ended
  bool is_due(double seconds) {
    ++ticks_;
    early_ = 0;
    const bool due = bytes_ < SMALL || ++waited_ >= std::max(MOST_TICKS, ticks_ / 20) || is_cheap(seconds);
    if (due) waited_ = 0;
    return due;
  }
  /// Called for an error between two ticks, which may come in thousands: for the first few it is due, and for others
  /// where it is cheap.
  bool is_due_early(double seconds) { return (bytes_ < SMALL && early_++ < MOST_EARLY) || is_cheap(seconds); }
  /// Whether a write costs a twentieth of the time at most. @param seconds since the last write ended
  bool is_cheap(double seconds) const { return seconds >= 19 * cost_; }
  /// @param seconds that the write took
  void wrote(std::size_t bytes, double seconds) {
    bytes_ = bytes;
    cost_ = seconds;
  }
  /// Makes the next tick due, because writing at this one failed.
  void failed() {
    bytes_ = 0;
    cost_ = 0;
  }

 private:
  static constexpr std::size_t SMALL = std::size_t{2} << 20, MOST_TICKS = 20, MOST_EARLY = 16;
  std::size_t bytes_ = 0, ticks_ = 0, waited_ = 0, early_ = 0;
  double cost_ = 0;
};

}  // namespace loupe::html
