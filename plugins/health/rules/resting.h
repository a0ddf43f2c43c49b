#pragma once

#include <loupe/event.h>
#include <loupe/internal/tally.h>
#include <loupe/lens.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "health/rules/layer.h"

// Most steps are not looked at whole: layers rest whose output another one shows, and what is usual is only added up.

namespace loupe::health {

struct Model;

constexpr uint64_t fewest_looks_in_window = 4;  ///< fewer steps show too little

/// What sources omit from now on, LOUPE_REST_ bits, and which tally they use; an empty one: none.
struct Changes {
  std::vector<std::pair<Source, uint32_t>> rests;
  std::vector<std::pair<Source, internal::Tally>> uses;
};

/// What the events since the last step add up to. Where it shows that nothing is wrong, the parameters need not be
/// looked at one by one, which takes longer than everything else.
struct StepSums {
  /// How many parameters got a gradient, stepped, and both.
  struct Counts {
    uint32_t gradients = 0, stepped = 0, both = 0;
    bool operator==(const Counts& other) const = default;
  } counts;
  /// Of the weights that stepped, and of the other parameters.
  struct Part {
    uint32_t with_gradient = 0;  ///< other than 0
    uint32_t changed = 0;
    double gradient_squares = 0;
    const loupe_source* largest = nullptr;  ///< the source of the largest gradient
    double largest_squares = 0;
    void take_largest(const loupe_source* source, double squares) {
      if (largest != nullptr && squares <= largest_squares) return;
      largest = source;
      largest_squares = squares;
    }
  } weights, others;
  bool any_not_cleared = false;

  /// The weights decide, where any has a gradient.
  const Part& deciding() const { return weights.with_gradient > 0 ? weights : others; }
  void add_step(const ParameterState& state) {
    Part& part = state.is_matrix() ? weights : others;
    ++counts.stepped;
    any_not_cleared = any_not_cleared || state.not_cleared;
    part.changed += state.has_change && state.change_norm != 0 ? 1 : 0;
    if (state.gradients == 0) return;
    ++counts.both;
    part.with_gradient += state.gradient_norm > 0 ? 1 : 0;
    if (!std::isfinite(state.gradient_norm)) return;
    const double squares = state.gradient_norm * state.gradient_norm;
    part.gradient_squares += squares;
    part.take_largest(state.gradient_source.raw(), squares);
  }
};

// All of the following are used under their model's mutex.

/// Adds up the usual gradients and steps of a model, by the host, in the steps between two looks: as long as there are
/// as many as in the step before, and all are usual, nothing is wrong with any of them. The gradients of biases rest: a
/// NaN or Inf in one shows in that of the weight, or in the bias after the step.
class Tallies {
 public:
  struct Pair {
    internal::Tally gradients, steps;
  };
  Tallies() = default;  ///< none can be used
  Tallies(const Pair& weights, const Pair& others) : weights_(weights), others_(others) {}

  bool in_use() const { return in_use_; }
  /// After a step that was looked at whole: adds to `changes` which of the parameters are added up from now on. None
  /// unless each of those that stepped had one gradient, and the reverse.
  void begin(Model& model, Changes& changes);
  /// Adds to `changes` that they are processed one by one again.
  void end(Model& model, Changes& changes);
  /// Adds what came since the last call. Returns whether a gradient came.
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

/// Adds up the outputs of the layers within a model in the same steps, as long as they are finite and of training
/// passes. A layer is processed only in the steps in which its elements are looked at.
class OutputTally {
 public:
  OutputTally() = default;  ///< none can be used
  explicit OutputTally(const internal::Tally& tally) : tally_(tally) {}

  /// After a step that was looked at whole: adds to `changes` which layers are added up from now on.
  void begin(Model& model, Changes& changes);
  /// After a step between two looks: the same for the next one.
  void end_step(Model& model, Changes& changes);
  /// Adds to `changes` that all are processed again.
  void end(Model& model, Changes& changes);
  /// Adds what came since the last call to the pass that is running. On the thread of an event or the trainer's.
  void take(Model& model) const;
  /// For another model to use.
  OutputTally emptied() const;

 private:
  static void add_up(Layer& layer, bool adds_up, const internal::Tally& tally, Changes& changes);

  internal::Tally tally_;
  bool in_use_ = false;
  uint32_t steps_ = 0;        ///< since it began
  uint32_t next_change_ = 0;  ///< the step after which layers are gone through again
};

/// Learns which layer's output goes unchanged into the next, in the steps that are looked at whole: a NaN or Inf of a
/// convolution shows in the ReLU behind it, so that one look is enough for both.
class Flow {
 public:
  /// A layer ran in training, with its tensors in the processor's memory.
  void take(Layer& layer, const Event& event);
  void end_pass() { last_ = nullptr; }
  /// After a step that was looked at whole. Returns whether the layer has the same neighbours as before.
  static bool settle(Layer& layer);
  /// What a layer may omit, LOUPE_REST_ bits. A layer rests between two that are looked at: its input was seen to be
  /// finite, and its output is seen in the one behind it. So at most one that can make a NaN lies between them, and is
  /// named when there is one.
  static uint32_t rest_of(const Model& model, const Layer& layer);

 private:
  static constexpr int64_t most_compared = 16;
  using Some = std::array<double, most_compared>;  ///< elements of a tensor

  // The last layer that ran, and its output.
  Layer* last_ = nullptr;
  const void* data_ = nullptr;
  int64_t count_ = 0;
  Some some_{};
};

/// Decides when to look: one step in about 16, later 60, is looked at whole, and in the steps between one look is
/// enough for a layer and the one that takes its output, and parameters are added up.
class Resting {
 public:
  /// Whether nothing rests in this step.
  bool is_looking() const { return looking_; }
  /// Looks at everything again from the end of this step on.
  void begin_anew() { steps_left_ = 0; }
  /// At the end of a step: adds to `changes` what rests from now on, and what no longer does.
  void end_step(Model& model, bool may_rest, Changes& changes);
  /// The same where a window ends with the step, or between two steps: the first steps of each are looked at.
  void begin_window(Model& model, Changes& changes) {
    looks_ = 0;
    wake(model, changes);
  }
  /// Adds to `changes` that nothing rests any more.
  void wake(Model& model, Changes& changes) {
    if (!looking_) turn(model, changes);
  }

 private:
  void turn(Model& model, Changes& changes);
  uint32_t next_rest();

  bool looking_ = true;
  uint64_t looks_ = 0;         ///< steps of the window
  uint32_t steps_left_ = 0;    ///< until all are looked at again
  uint32_t steady_looks_ = 0;  ///< in a row that found the same neighbours
  uint32_t random_ = 1;
};

}  // namespace loupe::health
