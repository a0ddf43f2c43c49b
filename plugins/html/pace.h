#ifndef LOUPE_HTML_PACE_H
#define LOUPE_HTML_PACE_H

#include <cstddef>

namespace loupe::html {

/// Decides at which ticks the whole report is written anew, so that a long run does not pay for it quadratically. A
/// small report is written at every tick. A larger one is left out while writing it would take more than a twentieth of
/// the run's time, but never for 20 ticks in a row.
class Pace {
 public:
  /// Asked at each tick. @param seconds since the last write ended
  bool is_due(double seconds) {
    const bool due = bytes_ < SMALL || ++waited_ >= MOST_TICKS || seconds >= 19 * cost_;
    if (due) waited_ = 0;
    return due;
  }
  /// @param seconds that the write took
  void wrote(std::size_t bytes, double seconds) {
    bytes_ = bytes;
    cost_ = seconds;
  }
  /// The next tick is due, because this one's write failed.
  void failed() { bytes_ = 0; }

 private:
  static constexpr std::size_t SMALL = std::size_t{2} << 20, MOST_TICKS = 20;
  std::size_t bytes_ = 0, waited_ = 0;
  double cost_ = 0;
};

}  // namespace loupe::html

#endif
