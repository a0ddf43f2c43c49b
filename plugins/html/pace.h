#pragma once

#include <algorithm>
#include <cstddef>

namespace loupe::html {

/// Decides at which ticks the whole report is written, so that the total cost does not grow with the square of the
/// run's length. A small report is written at every tick. A larger report is skipped while writing it would take more
/// than a twentieth of the run's time, but never for more than 20 ticks in a row, or a twentieth of all ticks if that
/// is more.
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
  /// Whether to write an error between two ticks now. Thousands may come: writes the first few at once, later ones only
  /// if writing is cheap.
  bool is_due_early(double seconds) { return (bytes_ < SMALL && early_++ < MOST_EARLY) || is_cheap(seconds); }
  /// Whether writing takes at most a twentieth of the time. @param seconds since the last write ended
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
