// Every rule of health, one entry each. For a new rule: declare its function here and add an entry, define the function
// in one of the files named below (or a new one), and add a case to tests/zoo or a test to
// tests/testing/health_test.cpp.

#include "health/rules/rule.h"

namespace loupe::health {

using Look = void(const Judge&, const Moment&);

// loop_rules.cpp
Look judge_clearing, judge_no_step, judge_effect, judge_device_effect, judge_reach, judge_unreached, judge_standing,
    judge_never_reached, judge_training_mode, judge_validation_mode, judge_repeated_batch, judge_small_batch_norm,
    judge_double_softmax;
// optimizer_rules.cpp
Look judge_zero_rate, judge_copies, judge_stale, judge_unheld, judge_standing_unheld, judge_untrainable;
// gradient_rules.cpp
Look judge_vanishing, judge_exploding, judge_gradient_jump, judge_first_step, judge_update_ratios;
// layer_rules.cpp
Look judge_dead, judge_saturated, judge_constant, judge_input_scale, judge_start, judge_equal_units;
// loss_rules.cpp
Look judge_stagnation, judge_spikes, judge_oscillation, judge_divergence, judge_overfitting;

const std::vector<Rule>& rules() {
  // Sure: these need no threshold, and report what they see at once.
  static const std::vector<Rule> table = {
      {non_finite, "error; the first NaN or Inf of the run, and what made it"},
      {"gradients_not_cleared",
       "error; a step's gradients still hold those of the step before",
       {{When::parameters, &judge_clearing}},
       {},
       /*is_blind_on_devices=*/true},
      {"no_step", "error; gradients are made in a whole epoch, and no optimizer steps", {{When::tick, &judge_no_step}}},
      {"zero_learning_rate", "warning; a parameter group's rate stays 0", {{When::optimizer, &judge_zero_rate}}},
      {"no_effect",
       "error; a step changes nothing, or, with 16 bits, less than the type can hold",
       {{When::optimizer, &judge_copies}, {When::parameters, &judge_effect}, {When::window, &judge_device_effect}}},
      {"nothing_trainable",
       "error; nothing requires a gradient, or the loss reaches nothing",
       {{When::optimizer, &judge_untrainable}, {When::parameters, &judge_reach}}},
      {"unchanged_parameter",
       "warning; in no optimizer, or cut off from the loss",
       {{When::optimizer, &judge_unheld},
        {When::parameters, &judge_unreached},
        {When::window, &judge_standing},
        {When::window, &judge_standing_unheld},
        {When::tick, &judge_never_reached}}},
      {"stale_optimizer",
       "error; the optimizer holds parameters that the model no longer has",
       {{When::optimizer, &judge_stale}}},
      {unregistered_module, "warning; a module with parameters runs in the model and is never trained"},
      {"mode_mismatch",
       "error or warning; trained in eval mode, validated in training mode, dropout left on",
       {{When::step, &judge_training_mode}, {When::tick, &judge_validation_mode}}},
      {"repeated_batch",
       "warning; the input stopped changing",
       {{When::step, &judge_repeated_batch}},
       {},
       /*is_blind_on_devices=*/true},
      {"small_batch_norm", "warning; batch statistics of one or two values", {{When::step, &judge_small_batch_norm}}},
      {"double_softmax",
       "warning; a cross entropy of what is a distribution already",
       {{When::step, &judge_double_softmax}},
       {},
       /*is_blind_on_devices=*/true},

      // About the numbers: these have thresholds, and most of them patience.
      {"vanishing_gradient",
       "error; first layer's gradient against the last's",
       {{When::window, &judge_vanishing}},
       {{"vanishing_ratio", 1e-3, "first layer's gradient norm over the last's, below which it vanishes (AutoTrainer)",
         0.0},
        {"vanishing_norm", 1e-4, "and its own norm, below which that is an error rather than a warning (AutoTrainer)",
         0.0}},
       false,
       Evidence::weight_gradients},
      {"exploding_gradient",
       "warning; the same, or a norm far above all before",
       {{When::step, &judge_gradient_jump}, {When::window, &judge_exploding}},
       {{"exploding_ratio", 70.0, "the same ratio above which gradients explode (AutoTrainer)", 1.0},
        {"exploding_factor", 10.0, "a gradient norm over the largest so far, above which it explodes", 1.0},
        {"exploding_norm", 1e3, "a gradient norm over the norm of its weights, above which it explodes", 0.0}},
       false,
       Evidence::weight_gradients},
      {"dead_units",
       "error; ReLU-like units silent for a whole window of samples",
       {{When::window, &judge_dead}},
       {{"dead_share", 0.5,
         "share of a layer's units silent for a whole window that is an error; half of it is told as information", 0.0,
         1.0}},
       /*is_blind_on_devices=*/true},
      {"saturated_activation",
       "warning; tanh or sigmoid pressed to its bounds",
       {{When::window, &judge_saturated}},
       {{"saturated_share", 0.5, "share of a tanh's or sigmoid's outputs pressed to the bounds", 0.0, 1.0}},
       /*is_blind_on_devices=*/true},
      {"update_ratio",
       "warning; a step's norm over the parameter's, too large or too small",
       {{When::step, &judge_first_step}, {When::window, &judge_update_ratios}},
       {{"update_low", 1e-6,
         "update norm over parameter norm, below which hardly anything is learned; the usual range is 1e-4 to 1e-2 "
         "(Karpathy, CS231n: 1e-3)",
         0.0},
        {"update_high", 0.1, "the same, above which steps are too large", 0.0}},
       false,
       Evidence::update_ratios},
      {"poor_initialization",
       "error or warning; equal units, or a variance that grows or shrinks by layer",
       {{When::step, &judge_start}, {When::window, &judge_equal_units}},
       {{"variance_factor", 10.0,
         "factor a layer by which the outputs' variance grows at the first step; three times as much if it shrinks",
         1.0}},
       /*is_blind_on_devices=*/true},
      {"unnormalized_input",
       "warning; inputs far from unit scale",
       {{When::window, &judge_input_scale}},
       {{"input_scale", 10.0, "root mean square of the model's input, above which it is not normalized", 0.0}},
       /*is_blind_on_devices=*/true},
      {"constant_output",
       "warning; a layer's output does not depend on its input",
       {{When::window, &judge_constant}},
       {},
       /*is_blind_on_devices=*/true},
      {"loss_not_decreasing",
       "warning; epochs go by and the training loss stays where it began",
       {{When::training_epoch, &judge_stagnation}},
       {},
       false,
       Evidence::training_loss},
      {"loss_spike",
       "warning; a loss far above those before",
       {{When::losses, &judge_spikes}},
       {{"spike_factor", 2.0, "a loss over the mean of those before, above which it spikes when it stays so", 1.0},
        {"spikes", 5, "how many in a row", 1, 1e6},
        {"hard_spike_factor", 10.0, "a loss over the largest of the last 100, above which it spikes at once", 1.0}},
       false,
       Evidence::training_loss},
      {"loss_oscillating",
       "warning; the training loss swings and does not come down",
       {{When::training_epoch, &judge_oscillation}},
       {{"oscillation", 0.5,
         "mean change from one loss to the next over their mean, above which it oscillates; above the loss's start "
         "0.6 times that",
         0.0}}},
      {"diverging_loss",
       "error; an epoch's loss is far above the lowest",
       {{When::training_epoch, &judge_divergence}},
       {{"diverging_factor", 2.0, "an epoch's loss over the lowest epoch's so far, above which it diverges", 1.0}},
       false,
       Evidence::training_loss},
      {"overfitting",
       "warning; the validation loss grows while the training loss falls",
       {{When::validation_epoch, &judge_overfitting}},
       {{"overfitting_factor", 1.1, "an epoch's validation loss over the lowest so far, while the training loss falls",
         1.0}},
       false,
       Evidence::both_losses},
      {"departs_from_baseline", "warning; the first series outside of what good runs show, where a baseline is given"},
  };
  return table;
}

}  // namespace loupe::health
