#ifndef LOUPE_PIPELINE_BUDGET_H
#define LOUPE_PIPELINE_BUDGET_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

namespace loupe {

/// Chooses how often to look, so that looking takes no more than a share of the time: from how long the steps take that
/// are looked at, and how long those that are not. One clock read a step is all that it needs. Has no clock of its own.
class Budget {
 public:
  /// @param share  of a step's own time, 0.01 for 1 %
  explicit Budget(double share) : share_(share) {}

  /// Look at one step in so many. At first at one in four, then never more often than at one in two, so that there
  /// always are steps to compare with.
  uint64_t every() const { return every_; }
  /// A step is over that took so long. Returns whether `every` is another one now.
  bool step(double seconds, bool looked);
  /// What is left of the pair that is on is not counted: something else took its time, or steps were not seen.
  void interrupt() { in_pair_ = 0; }

  /// What a step takes that is not looked at, and what looking adds to one, in seconds; 0 before it is known.
  double step_seconds() const { return step_seconds_; }
  double added_seconds() const { return added_seconds_; }
  /// The share of all the time that looking takes with the present `every`.
  double used_share() const;
  /// What to tell the user of the present choice, in a sentence.
  std::string words() const;

 private:
  bool choose();

  double share_;
  uint64_t every_ = 4;
  uint64_t steps_ = 0, pairs_since_change_ = 0;
  // Steps count by pairs of adjacent ones: a loop that does more at every second step is no different when it is looked
  // at.
  double pair_seconds_ = 0;
  int in_pair_ = 0;
  bool pair_looked_ = false;
  std::deque<double> unlooked_, added_;  // seconds a step, of the last pairs
  double step_seconds_ = 0, added_seconds_ = 0;
};

}  // namespace loupe

#endif
