// Rules about the training loop, which need no threshold: what they tell of is so.

#include <algorithm>
#include <cmath>

#include "health/elements.h"
#include "health/judge.h"

namespace loupe::health {
namespace {

void judge_clearing(const Judge& judge, const Model& model) {
  std::size_t kept = 0;
  const ParameterState* first = nullptr;
  for (const ParameterState& each : model.parameters) {
    if (!each.stepped || !each.not_cleared) continue;
    ++kept;
    if (first == nullptr) first = &each;
  }
  if (first == nullptr) return;
  Sight sight;
  sight.rule = "gradients_not_cleared";
  sight.severity = LOUPE_SEVERITY_ERROR;
  sight.module = model.root;
  sight.message = "the step used gradients that still held those of the step before, of " + std::to_string(kept) +
                  " of " + std::to_string(model.sums.counts.stepped) + " parameters, such as " + shown(*first);
  sight.advice = "call optimizer.zero_grad() once between two steps, before the backward pass";
  judge.tell(sight);
}

/// Where training has arrived, updates are lost in rounding, and nothing is lost with them.
constexpr double arrived = 1e-5;

/// Whether the gradients that the backward made were all set to 0 before the step.
bool are_cleared_before_step(const Judge& judge, const Model& model) {
  bool any_gradient = false, all_zero = true;
  for (const ParameterState& each : model.parameters) {
    if (!each.stepped || !(each.gradient_norm > 0)) continue;
    judge.host.lend_parameter(each.module, each.name.c_str(), true, [&](const loupe_tensor& tensor) {
      const Elements gradient(&tensor);
      any_gradient = any_gradient || gradient.readable();
      all_zero = all_zero && gradient.readable() && gradient.extent().largest == 0 && gradient.extent().is_finite();
    });
    if (!all_zero) return false;
  }
  return any_gradient;
}

void tell_no_effect(const Judge& judge, const Model& model, const std::string& what, std::size_t with_gradient,
                    double largest_gradient) {
  Sight sight;
  sight.rule = "no_effect";
  sight.severity = LOUPE_SEVERITY_ERROR;
  sight.module = model.root;
  sight.value = 0;
  sight.message = what + " of " + whose(model) + ", although " + std::to_string(with_gradient) +
                  " have gradients (the largest norm is " + number(largest_gradient) + ")";
  sight.advice = are_cleared_before_step(judge, model)
                     ? "call zero_grad() before backward(), not between backward() and step(): the gradients were all "
                       "0 when the step was made"
                     : "see that the learning rate is not so small that updates are lost in rounding, and that the "
                       "optimizer holds the model's own parameters";
  judge.tell(sight);
}

void judge_effect(const Judge& judge, Model& model, const loupe_optimizer* optimizer) {
  if (!has_rate(optimizer)) return;  // zero_learning_rate tells of that
  // A bias that begins at 0 moves however small the update is: weights decide, where there are any.
  const StepSums& sums = model.sums;
  const bool has_weights = sums.weights.with_gradient > 0;
  const std::size_t with_gradient = sums.deciding().with_gradient;
  const std::size_t changed = sums.weights.changed + (has_weights ? 0 : sums.others.changed);
  const double gradient = std::sqrt(sums.deciding().largest_squares);
  for (const ParameterState& each : model.parameters) {
    if (!each.stepped || (has_weights && !each.is_matrix())) continue;
    // Where none of a sample changed, others may have: of an embedding only the rows of the words that were read.
    if (!each.has_change || (each.is_sampled && each.change_norm == 0)) return;
  }
  Sight sight;
  sight.rule = "no_effect";
  if (with_gradient > 0 && changed == 0 && gradient > arrived) {
    const std::string what = std::string("the step changed no ") + (has_weights ? "weight" : "parameter");
    return tell_no_effect(judge, model, what, with_gradient, gradient);
  }
  // Training in 16 bits lives with updates that are lost now and then.
  constexpr int64_t enough = 32;
  constexpr double nearly_all = 0.95;
  for (ParameterState& each : model.parameters) {
    each.largest_gradient = std::max(each.largest_gradient, each.gradient_norm);
    const bool has_arrived = each.gradient_norm < 0.1 * each.largest_gradient;
    if (!each.stepped || !each.is_matrix() || has_arrived || each.low_precision_seen < enough) continue;
    const double share =
        static_cast<double>(each.low_precision_unchanged) / static_cast<double>(each.low_precision_seen);
    if (share <= nearly_all) continue;
    sight.module = each.module;
    sight.parameter = each.name;
    sight.value = share;
    sight.threshold = nearly_all;
    sight.message =
        "the step left " + percent(share) + " of " + shown(each) +
        " as it was, although they have gradients: the updates are smaller than the type of 16 bits can hold";
    sight.advice = "keep a copy of the parameters in float32 for the optimizer, or raise the learning rate";
    judge.tell(sight);
  }
}

/// @param by_hand  nothing but the trainer's word says that it stepped; its gradients may be gone already
void judge_reach(const Judge& judge, const Model& model, bool by_hand) {
  std::size_t stepped = 0, with_gradient = 0;
  for (const ParameterState& each : model.parameters) {
    if (!each.stepped) continue;
    ++stepped;
    with_gradient += each.is(LOUPE_PARAMETER_GRADIENT) ? 1 : 0;
  }
  if (stepped == 0 || with_gradient > 0 || (by_hand && model.added_up)) return;
  Sight sight;
  sight.rule = "nothing_trainable";
  sight.severity = LOUPE_SEVERITY_ERROR;
  sight.module = model.root;
  sight.message = "the optimizer stepped, but none of the " + std::to_string(stepped) +
                  " parameters that it holds of " + whose(model) + " has a gradient: the loss does not reach them";
  sight.advice =
      "see that the loss is computed from the model's output without detach(), data() or NoGradGuard, and "
      "that backward() is called on it";
  judge.tell(sight);
}

constexpr uint32_t steps_enough = 2;

void tell_zeros(const Judge& judge, const ParameterState& state) {
  Sight sight;
  sight.rule = "unchanged_parameter";
  sight.module = state.module;
  sight.parameter = state.name;
  sight.message = "the gradient of " + shown(state) + " has been 0 in each of the first " +
                  std::to_string(steps_enough) + " steps: the loss does not depend on it";
  sight.advice =
      "see that its output is used by the loss, and that neither what goes into its module nor what comes after it is "
      "all zero";
  judge.tell(sight);
}

void tell_cut_off(const Judge& judge, const ParameterState& state) {
  Sight sight;
  sight.rule = "unchanged_parameter";
  sight.module = state.module;
  sight.parameter = state.name;
  sight.message =
      shown(state) + " is in the optimizer and its module runs, but the loss does not reach it, so it never changes";
  sight.advice = "look for a detach(), a NoGradGuard or an output that is not used between this module and the loss";
  judge.tell(sight);
}

/// Parameters that cannot move, since no gradient comes to them though their module ran.
void judge_unchanged(const Judge& judge, Model& model) {
  bool any_gradient = false;
  for (const ParameterState& each : model.parameters) {
    const bool has_numbers = each.gradients > 0 && each.gradient_norm > 0;
    any_gradient =
        any_gradient || (each.stepped && (model.is_on_device ? each.is(LOUPE_PARAMETER_GRADIENT) : has_numbers));
  }
  for (ParameterState& each : model.parameters) {
    const bool trains = each.is(LOUPE_PARAMETER_TRAINABLE);
    const bool has_gradient = each.is(LOUPE_PARAMETER_GRADIENT) || each.gradients > 0;
    const bool ran = each.runs != nullptr && each.runs->trained_at == model.step_now;
    const bool rests = each.runs != nullptr && ((each.runs->rests & LOUPE_REST_EVENTS) != 0 || each.runs->is_added_up);
    const bool lacks = trains && each.stepped && !has_gradient && any_gradient;
    if (!rests) each.cut_off_steps = lacks && ran ? each.cut_off_steps + 1 : 0;
    if (rests && lacks) model.resting.begin_anew();  // whether its module runs is to be seen
    // A gradient that was nothing but zeros from the first step on.
    if (each.stepped && each.gradients > 0) {
      each.nonzero_gradients += each.gradient_norm != 0 ? 1 : 0;
      ++each.seen_gradients;
    }
    const bool is_zero = trains && each.is_matrix() && any_gradient && each.nonzero_gradients == 0 &&
                         each.seen_gradients == steps_enough;
    if (is_zero) {
      each.told_of_zeros = true;
      tell_zeros(judge, each);
    } else if (each.cut_off_steps == steps_enough) {
      tell_cut_off(judge, each);
    }
  }
}

}  // namespace

void judge_device_effect(const Judge& judge, const Model& model) {
  std::size_t with_gradient = 0;
  double largest = 0;
  for (const ParameterState& each : model.parameters) {
    if (!each.is_matrix() || each.change_count == 0) continue;
    if (each.is_sampled || each.largest_change != 0) return;
    if (each.gradient_count == 0 || !(each.gradient_norm_sum > 0)) continue;
    ++with_gradient;
    largest = std::max(largest, each.gradient_norm_sum / static_cast<double>(each.gradient_count));
  }
  if (with_gradient == 0 || largest <= arrived || model.had_no_rate) return;
  tell_no_effect(judge, model, "no step since the last tick changed a weight", with_gradient, largest);
}

void judge_parameters(const Judge& judge, Model& model, const loupe_optimizer* optimizer) {
  judge_clearing(judge, model);
  // Where something is missing of what is added up, the next step says of each what it was.
  if (!model.knows_each()) model.resting.begin_anew();
  if (!model.is_on_device && model.knows_each()) judge_effect(judge, model, optimizer);
  const bool by_hand = optimizer == nullptr;
  judge_reach(judge, model, by_hand);
  if (!by_hand || !model.is_on_device) judge_unchanged(judge, model);
}

void judge_loop(const Judge& judge, const Model& model) {
  Sight sight;
  if (model.small_norm != nullptr) {
    sight.rule = "small_batch_norm";
    sight.module = model.small_norm->module;
    sight.value = static_cast<double>(model.small_norm_values);
    sight.threshold = 2;
    sight.message = "'" + model.small_norm->name + "' normalizes by the statistics of " +
                    std::to_string(model.small_norm_values) + " values a channel: its output says little of them";
    sight.advice = "use larger batches, leave out the last incomplete one, or use GroupNorm or LayerNorm";
    judge.tell(sight);
  }
  if (model.got_distribution) {
    sight = {};
    sight.rule = "double_softmax";
    sight.module = model.last_layer != nullptr ? model.last_layer->module : model.root;
    sight.message =
        "the cross entropy is given probabilities that add up to 1, where it takes scores: it applies "
        "softmax itself, and twice flattens the gradients";
    sight.advice = "leave out the softmax at the end of the model, or take the logarithm and use nll_loss";
    judge.tell(sight);
  }
}

void judge_modes(const Judge& judge, Model& model) {
  Sight sight;
  sight.rule = "mode_mismatch";
  if (model.training_runs == 0 && model.evaluation_runs > 0 && model.added_up) {
    const bool drops = model.drops(), normalizes = model.has_batch_norm(), matters = drops || normalizes;
    sight.severity = matters ? LOUPE_SEVERITY_ERROR : LOUPE_SEVERITY_INFO;
    sight.module = model.root;
    sight.message = "the whole of " + whose(model) + " is in eval mode while it is trained" +
                    (drops && normalizes ? ": dropout is off and batch norms do not learn"
                     : drops             ? ": dropout is off"
                     : normalizes        ? ": batch norms do not learn"
                                         : ", which here changes nothing");
    sight.advice = "call model->train() before each training epoch";
    judge.tell(sight);
  }
  if (model.dropped_in_eval != nullptr) {
    sight.severity = LOUPE_SEVERITY_WARNING;
    sight.module = model.dropped_in_eval->module;
    sight.message = "the function '" + model.dropped_in_eval->type + "' drops values while " + whose(model) +
                    " is in eval mode: its training argument is true by default";
    sight.advice = "pass is_training() to it, or use the module torch::nn::Dropout";
    judge.tell(sight);
  }
}

void judge_validation(const Judge& judge, Model& model) {
  model.end_pass();
  if (model.passes == 0 || model.training_passes != model.passes || model.added_up) return;
  const bool sure = model.passes_without_grad == model.passes || model.passes >= 2;
  if (!sure) return;
  const bool drops = model.drops(), normalizes = model.has_batch_norm(), matters = drops || normalizes;
  Sight sight;
  sight.rule = "mode_mismatch";
  sight.at_tick = true;
  sight.severity = matters ? LOUPE_SEVERITY_WARNING : LOUPE_SEVERITY_INFO;
  sight.module = model.root;
  sight.message = whose(model) + " is in training mode while it is validated" +
                  (drops && normalizes ? ": dropout is on and batch norms take in the validation data"
                   : drops             ? ": dropout is on"
                   : normalizes        ? ": batch norms take in the validation data"
                                       : ", which here changes nothing");
  sight.advice = "call model->eval() before the validation, and model->train() after it";
  judge.tell(sight);
}

void judge_input(const Judge& judge, Model& model) {
  if (!model.input.is_known) return;
  if (model.steps <= 1 || !model.input.equals(model.last_input)) {
    // What repeats now and then, as several updates for one batch do, is meant.
    if (model.same_inputs > 0) model.repeats_by_habit = true;
    model.changed_inputs += model.steps > 1 && !model.after_gap ? 1 : 0;
    model.same_inputs = 0;
    return;
  }
  if (model.after_gap) return;  // the same batch again, with others in between
  if (++model.same_inputs < 2 || !model.may_repeat()) return;
  Sight sight;
  sight.rule = "repeated_batch";
  sight.module = model.first_layer != nullptr ? model.first_layer->module : model.root;
  sight.value = model.same_inputs + 1;
  sight.message = "the model's input has been the same, bit for bit, for " + std::to_string(model.same_inputs + 1) +
                  " steps, after it had changed with each step";
  sight.advice = "see that the loop takes the next batch of its data loader";
  judge.tell(sight);
}

void judge_standing(const Judge& judge, const Model& model) {
  for (const ParameterState& each : model.parameters) {
    if (!each.is(LOUPE_PARAMETER_TRAINABLE) || !each.is(LOUPE_PARAMETER_OPTIMIZED)) continue;
    if (each.told_of_zeros && each.nonzero_gradients == 0) {
      tell_zeros(judge, each);
    } else if (each.cut_off_steps >= steps_enough) {
      tell_cut_off(judge, each);
    }
  }
  judge_standing_unheld(judge, model);
}

void judge_untouched(const Judge& judge, Model& model) {
  constexpr uint64_t steps_enough = 4;
  for (const ParameterState& each : model.parameters) {
    if (each.steps < steps_enough || each.steps_with_gradient > 0 || !each.is(LOUPE_PARAMETER_TRAINABLE)) continue;
    if (each.ever_changed) continue;                   // in steps that nobody looked at
    if (each.cut_off_steps >= steps_enough) continue;  // of which more is known
    Sight sight;
    sight.rule = "unchanged_parameter";
    sight.at_tick = true;
    sight.module = each.module;
    sight.parameter = each.name;
    sight.message = shown(each) + " is in the optimizer, but in " + std::to_string(each.steps) +
                    " steps no gradient came to it, so it never changed";
    sight.advice = "see that its module runs and that the loss depends on it, or freeze it with requires_grad_(false)";
    judge.see(sight);
  }
}

}  // namespace loupe::health
