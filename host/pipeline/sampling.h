#ifndef LOUPE_PIPELINE_SAMPLING_H
#define LOUPE_PIPELINE_SAMPLING_H

#include <cstdint>

namespace loupe {

/// Which steps are looked at: of each 2n steps the first two, so that one step in n is looked at and each has a
/// neighbour to be compared with. A step lasts from the end of the one before to its own end. One lens may be set
/// apart: it looks at some of those pairs alone. Calls come one at a time.
class Sampling {
 public:
  explicit Sampling(uint64_t every) : every_(every) {}

  /// Whether the step that is on is looked at.
  bool looking() const { return looking_; }
  /// Whether also the lens that is set apart looks at it.
  bool looking_apart() const { return looking_ && (turn_ || fully_ > 0); }
  uint64_t every() const { return every_; }
  /// From the next step on; a pair that has begun is looked at to its end.
  void set_every(uint64_t every) { every_ = every; }
  /// The lens that is set apart looks at one pair of so many, from the next pair on; 1: at all, 0: at none.
  void set_apart(uint64_t multiple) { multiple_ = multiple; }
  /// The step that was on is over. Returns whether the next one is looked at.
  bool step_over();
  /// Every step is looked at from the next one on, for as many: something is wrong.
  void look_fully(uint64_t steps) { asked_for_ = steps; }
  /// The step that is on begins a pair.
  void restart();

 private:
  void begin_pair();

  uint64_t every_;
  uint64_t multiple_ = 1, pairs_ = 0;  // since the one that the lens set apart looked at
  uint64_t place_ = 0;                 // of the step that is on, among the 2n
  uint64_t fully_ = 0, asked_for_ = 0;
  bool looking_ = true, turn_ = true;
};

}  // namespace loupe

#endif
