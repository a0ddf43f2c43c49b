#pragma once

#include <loupe/internal/tally.h>
#include <loupe/lens.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "health/rules/step_sums.h"

namespace loupe::health {

struct Model;

/// What sources do without from now on, LOUPE_REST_ bits, and which tally they use; an empty one: none.
struct Changes {
  std::vector<std::pair<Source, uint32_t>> rests;
  std::vector<std::pair<Source, internal::Tally>> uses;
};

/// In the steps between two looks the host adds up what is usual of a model's gradients and steps: as long as there are
/// as many of them as in the step before, and none that is not usual, nothing is wrong with any of them. The gradients
/// of biases rest: a NaN or Inf in one shows in that of the weight, or in the bias after the step. Under its model's
/// mutex.
class Tallies {
 public:
  struct Pair {
    internal::Tally gradients, steps;
  };
  Tallies() = default;  ///< none can be used
  Tallies(const Pair& weights, const Pair& others) : weights_(weights), others_(others) {}

  bool in_use() const { return in_use_; }
  /// After a step that was looked at whole: adds to `changes` which of the parameters are added up from now on. None,
  /// where not each of those that stepped had one gradient, and the other way round.
  void begin(Model& model, Changes& changes);
  /// Adds to `changes` that they are processed one by one again.
  void end(Model& model, Changes& changes);
  /// Adds what came since the last call. Whether a gradient came.
  bool take(StepSums& sums) const;
  /// Whether as many gradients came, and as many parameters stepped, as in the step that was looked at.
  bool is_complete(const StepSums& sums) const {
    return sums.counts.gradients == usual_.gradients && sums.counts.stepped == usual_.stepped;
  }
  /// For another model to use.
  Tallies emptied() const;

 private:
  Pair weights_, others_;
  StepSums::Counts usual_;
  bool in_use_ = false;
};

}  // namespace loupe::health
