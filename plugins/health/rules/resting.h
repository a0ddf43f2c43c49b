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

// Most steps are not fully measured: a layer rests if another one shows its output, and usual events are only added up.

namespace loupe::health {

struct Model;

constexpr uint64_t fewest_looks_in_window = 4;  ///< with fewer, a window shows too little

/// The events that sources skip from now on, LOUPE_REST_ bits, and the tally they use; an empty one: none.
struct Changes {
  std::vector<std::pair<Source, uint32_t>> rests;
  std::vector<std::pair<Source, internal::Tally>> uses;
};

/// The sums of the events since the last step. If they show no fault, the parameters need not be checked one by one,
/// which takes longer than everything else.
struct StepSums {
  /// The numbers of parameters that got a gradient, that stepped, and that did both.
  struct Counts {
    uint32_t gradients = 0, stepped = 0, both = 0;
    bool operator==(const Counts& other) const = default;
  } counts;
  /// The sums of the weights that stepped, or of the other parameters.
  struct Part {
    uint32_t with_gradient = 0;  ///< parameters whose gradient is not 0
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

  /// The weights decide if any of them has a gradient.
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

/// Lets the host add up the usual gradients and steps of a model between two full measurements: if there are as many as
/// in the step before, and all are usual, none has a fault. The gradients of biases rest: a NaN or Inf in one shows in
/// the weight's gradient, or in the bias after the step.
class Tallies {
 public:
  struct Pair {
    internal::Tally gradients, steps;
  };
  Tallies() = default;  ///< it has no tallies
  Tallies(const Pair& weights, const Pair& others) : weights_(weights), others_(others) {}

  bool in_use() const { return in_use_; }
  /// After a fully measured step: adds to `changes` the parameters that are added up from now on. None unless each
  /// parameter that stepped had one gradient, and the reverse.
  void begin(Model& model, Changes& changes);
  /// Adds to `changes` that they are processed one by one again.
  void end(Model& model, Changes& changes);
  /// Adds the events since the last call. Returns whether a gradient came.
  bool take(StepSums& sums) const;
  /// Whether as many gradients came, and as many parameters stepped, as in the measured step.
  bool is_complete(const StepSums& sums) const {
    return sums.counts.gradients == usual_.gradients && sums.counts.stepped == usual_.stepped;
  }
  /// The emptied tallies, for another model.
  Tallies emptied() const;

 private:
  Pair weights_, others_;
  StepSums::Counts usual_;
  bool in_use_ = false;
};

/// Adds up the outputs of the layers within a model in the same steps, as long as they are finite and from training
/// passes. A layer is processed only in steps in which its elements are read.
class OutputTally {
 public:
  OutputTally() = default;  ///< it has no tallies
  explicit OutputTally(const internal::Tally& tally) : tally_(tally) {}

  /// After a fully measured step: adds to `changes` the layers that are added up from now on.
  void begin(Model& model, Changes& changes);
  /// After a step in between: the same for the next step.
  void end_step(Model& model, Changes& changes);
  /// Adds to `changes` that all are processed again.
  void end(Model& model, Changes& changes);
  /// Adds the events since the last call to the running pass. On the thread of an event or the trainer's.
  void take(Model& model) const;
  /// The emptied tally, for another model.
  OutputTally emptied() const;

 private:
  static void add_up(Layer& layer, bool adds_up, const internal::Tally& tally, Changes& changes);

  internal::Tally tally_;
  bool in_use_ = false;
  uint32_t steps_ = 0;        ///< the number of steps since it began
  uint32_t next_change_ = 0;  ///< the step after which the layers are visited again
};

/// Learns, in fully measured steps, which layer's output goes unchanged into the next: a NaN or Inf of a convolution
/// shows in the ReLU after it, so one measurement is enough for both.
class Flow {
 public:
  /// A layer ran in training, with its tensors in the processor's memory.
  void take(Layer& layer, const Event& event);
  void end_pass() { last_ = nullptr; }
  /// Call it after a fully measured step. Returns whether the layer has the same neighbours as before.
  static bool settle(Layer& layer);
  /// The events that a layer may skip, LOUPE_REST_ bits. A layer rests between two measured ones: its input is known to
  /// be finite, and its output shows in the next layer. So at most one layer that can make a NaN is between them, and
  /// can be named.
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

/// Decides when to measure: about one step in 16, later 60, is fully measured. In the steps between, one measurement is
/// enough for a layer and the one after it, and parameters are added up.
class Resting {
 public:
  /// Whether this step is fully measured.
  bool is_looking() const { return looking_; }
  /// Measures everything again from the end of this step on.
  void begin_anew() { steps_left_ = 0; }
  /// At the end of a step: adds to `changes` the sources that rest from now on, and those that no longer rest.
  void end_step(Model& model, bool may_rest, Changes& changes);
  /// The same if a window ends with the step, or between two steps: the first steps of each window are measured.
  void begin_window(Model& model, Changes& changes) {
    looks_ = 0;
    wake(model, changes);
  }
  /// Adds to `changes` that nothing rests from now on.
  void wake(Model& model, Changes& changes) {
    if (!looking_) turn(model, changes);
  }

 private:
  void turn(Model& model, Changes& changes);
  uint32_t next_rest();

  bool looking_ = true;
  uint64_t looks_ = 0;         ///< measured steps of the window
  uint32_t steps_left_ = 0;    ///< the number of steps until the next full measurement
  uint32_t steady_looks_ = 0;  ///< full measurements in a row with the same neighbours
  uint32_t random_ = 1;
};

}  // namespace loupe::health
