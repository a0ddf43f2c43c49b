#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

namespace loupe {

/// Chooses how often to look, so that looking takes no more than a share of the time. Compares how long steps take that
/// are looked at with how long those take that are not, for which one clock read per step is enough. Has no clock of
/// its own.
class Budget {
 public:
  /// @param share  of a step's own time, 0.01 for 1 %
  /// @param fewest  look at one step in this many at most, so that there are always steps to compare with
  explicit Budget(double share, uint64_t fewest = 2);

  /// Look at one step in this many. At first at one in four, or fewer.
  uint64_t every() const { return every_; }
  /// A step that took this long is over. Returns whether there is something new to tell the user.
  bool step(double seconds, bool looked);
  /// Drops the pair of steps that has begun: something else took its time, or steps were not seen.
  void interrupt() { in_pair_ = 0; }

  /// What a step takes that is not looked at, and what looking adds to one, in seconds; 0 before it is known.
  double step_seconds() const { return step_seconds_; }
  double added_seconds() const { return added_seconds_; }
  /// The share of all the time that looking takes at present.
  double used_share() const;
  /// The present choice as a sentence for the user.
  std::string words() const;
  /// "one step in 20"
  std::string frequency() const { return "one step in " + std::to_string(every_); }

 private:
  bool choose();
  uint64_t wanted_every() const;
  uint64_t held_in_windows(uint64_t every) const;
  bool keeps_its_choice() const;

  double share_;
  uint64_t fewest_, every_;
  uint64_t steps_ = 0, pairs_since_change_ = 0;
  // Adjacent steps are timed in pairs: a loop that does more at every second step must look the same in both kinds.
  double pair_seconds_ = 0;
  int in_pair_ = 0;
  bool pair_looked_ = false;
  std::deque<double> unlooked_, added_;  // seconds per step, of the last pairs
  double step_seconds_ = 0, added_seconds_ = 0;
};

}  // namespace loupe
