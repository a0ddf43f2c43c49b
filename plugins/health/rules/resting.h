#pragma once

#include <cstdint>

#include "health/rules/tallies.h"

namespace loupe::health {

struct Model;

constexpr uint64_t fewest_looks_in_window = 4;  ///< what fewer steps show says too little

/// Lets rest what is shown otherwise: one step in about 16, later 60, is looked at whole, and in the steps between one
/// look is enough for a layer and the one that takes its output, and parameters are added up. Under its model's mutex.
class Resting {
 public:
  /// Whether this is a step in which nothing rests.
  bool is_looking() const { return looking_; }
  /// What rests looks again, from the end of this step on.
  void begin_anew() { steps_left_ = 0; }
  /// At the end of a step: adds to `changes` what is to rest from now on, and what is not to any more.
  void end_step(Model& model, bool may_rest, Changes& changes);
  /// The same where a window ends with it, or between two steps: the first steps of each are looked at.
  void begin_window(Model& model, Changes& changes) {
    looks_ = 0;
    wake(model, changes);
  }
  /// Adds to `changes` that nothing is to rest any more.
  void wake(Model& model, Changes& changes) {
    if (!looking_) turn(model, changes);
  }

 private:
  void turn(Model& model, Changes& changes);
  uint32_t next_rest();

  bool looking_ = true;
  uint64_t looks_ = 0;         ///< steps of the window
  uint32_t steps_left_ = 0;    ///< until all are looked at again
  uint32_t steady_looks_ = 0;  ///< in a row that found each layer where it was before
  uint32_t random_ = 1;
};

}  // namespace loupe::health
