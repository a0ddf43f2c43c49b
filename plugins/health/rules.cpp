#include "health/rules.h"

#include <utility>

#include "health/limits.h"

namespace loupe::health {

const Strings& rules() {
  static const Strings names = {
      "non_finite",        "gradients_not_cleared", "no_step",         "zero_learning_rate",  "no_effect",
      "nothing_trainable", "unchanged_parameter",   "stale_optimizer", "unregistered_module", "mode_mismatch",
      "repeated_batch",    "small_batch_norm",      "double_softmax",  "vanishing_gradient",  "exploding_gradient",
      "dead_units",        "saturated_activation",  "update_ratio",    "poor_initialization", "unnormalized_input",
      "constant_output",   "loss_not_decreasing",   "loss_spike",      "loss_oscillating",    "diverging_loss",
      "overfitting",       "departs_from_baseline"};
  return names;
}

const Strings& blind_on_devices() {
  static const Strings names = {
      "gradients_not_cleared", "repeated_batch",      "double_softmax",     "dead_units",
      "saturated_activation",  "poor_initialization", "unnormalized_input", "constant_output"};
  return names;
}

std::vector<Option> options() {
  std::vector<Option> options = {
      {"off", Strings{}, "rules that are not to speak", rules()},
      {"patience", 2, "windows in a row in which a statistical rule must see something before it speaks", 1, 1e6},
      {"cooldown", 3, "windows without it, after which a finding is over", 1, 1e6},
      {"window", 100, "steps that are judged together; a tick ends a window of 4 steps or more too", 4, 1e9},
      {"baseline", "",
       "what `loupe learn` made of the records of good runs, for departs_from_baseline; relative to the YAML file"},
  };
  for (Option& option : Limits::options()) options.push_back(std::move(option));
  return options;
}

}  // namespace loupe::health
