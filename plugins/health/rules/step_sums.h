#pragma once

#include <loupe/abi.h>

#include <cmath>
#include <cstdint>

#include "health/rules/layer.h"

namespace loupe::health {

/// What the events since the last step add up to. Where it says that nothing is wrong, nobody goes through the
/// parameters one by one, which takes longer than all else.
struct StepSums {
  /// How many parameters got a gradient, stepped, and both.
  struct Counts {
    uint32_t gradients = 0, stepped = 0, both = 0;
    bool operator==(const Counts& other) const {
      return gradients == other.gradients && stepped == other.stepped && both == other.both;
    }
  } counts;
  /// Of the weights that stepped, and of the other parameters.
  struct Part {
    uint32_t with_gradient = 0;  ///< other than 0
    uint32_t changed = 0;
    double gradient_squares = 0;
    const loupe_source* largest = nullptr;  ///< of the gradients: whose
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

}  // namespace loupe::health
