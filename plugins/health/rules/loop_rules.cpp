// Rules about the training loop: sure, without thresholds.

#include <loupe/draft/abi/flags.h>
#include <algorithm>
#include <cmath>

#include "health/rules/elements.h"
#include "health/rules/rate_history.h"
#include "health/rules/rule.h"

namespace loupe::health {
namespace {

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
                    double largest_gradient, const std::string& rate = {}) {
  Observation seen;
  seen.severity = LOUPE_SEVERITY_ERROR;
  seen.module = model.root;
  seen.value = 0;
  seen.message = what + " of " + whose(model) + ", although " + std::to_string(with_gradient) +
                 " have gradients (the largest norm is " + number(largest_gradient) + ")" + rate;
  seen.advice = are_cleared_before_step(judge, model)
                    ? "call zero_grad() before backward(), not between backward() and step(): the gradients were all "
                      "0 when the step was made"
                    : "see that the learning rate is not so small that updates are lost in rounding, and that the "
                      "optimizer holds the model's own parameters";
  judge.tell(seen);
}

void tell_zeros(const Judge& judge, const ParameterState& state) {
  Observation seen;
  seen.module = state.module;
  seen.place = state.runs != nullptr ? state.runs->first_run : 0;
  seen.value = 0;
  seen.parameter = state.name;
  seen.message = "the gradient of " + shown(state) + " has been 0 in each of the first " +
                 std::to_string(steps_enough) + " steps: the loss does not depend on it";
  seen.advice =
      "see that its output is used by the loss, and that neither what goes into its module nor what comes after it is "
      "all zero";
  judge.tell(seen);
}

void tell_cut_off(const Judge& judge, const ParameterState& state) {
  Observation seen;
  seen.module = state.module;
  seen.parameter = state.name;
  seen.message =
      shown(state) + " is in the optimizer and its module runs, but the loss does not reach it, so it never changes";
  seen.advice = "look for a detach(), a NoGradGuard or an output that is not used between this module and the loss";
  judge.tell(seen);
}

bool depends_on_mode(const Model& model) {
  return model.drops() || model.has_batch_norm();
}

/// What the wrong mode does to the model, for the end of a sentence.
std::string effects_of_mode(const Model& model, const std::string& on_dropout, const std::string& on_norms) {
  if (!depends_on_mode(model)) return ", which here changes nothing";
  const bool drops = model.drops(), normalizes = model.has_batch_norm();
  return ": " + (drops ? on_dropout : "") + (drops && normalizes ? " and " : "") + (normalizes ? on_norms : "");
}

}  // namespace

void judge_clearing(const Judge& judge, const Moment& moment) {
  const Model& model = *moment.model;
  std::size_t kept = 0;
  const ParameterState* first = nullptr;
  for (const ParameterState& each : model.parameters) {
    if (!each.stepped || !each.not_cleared) continue;
    ++kept;
    if (first == nullptr) first = &each;
  }
  if (first == nullptr) return;
  Observation seen;
  seen.severity = LOUPE_SEVERITY_ERROR;
  seen.module = model.root;
  seen.message = "the step used gradients that still held those of the step before, of " + std::to_string(kept) +
                 " of " + std::to_string(model.sums.counts.stepped) + " parameters, such as " + shown(*first);
  seen.advice = "call optimizer.zero_grad() once between two steps, before the backward pass";
  judge.tell(seen);
}

void judge_effect(const Judge& judge, const Moment& moment) {
  Model& model = *moment.model;
  if (model.is_on_device || !model.knows_each()) return;
  if (model.searches_steps) return;         // a search that has arrived goes nowhere
  if (!has_rate(moment.optimizer)) return;  // zero_learning_rate reports that
  // A bias that begins at 0 moves however small the update is: weights decide, where there are any.
  const StepSums& sums = model.sums;
  const bool has_weights = sums.weights.with_gradient > 0;
  const std::size_t with_gradient = sums.deciding().with_gradient;
  const std::size_t changed = sums.weights.changed + (has_weights ? 0 : sums.others.changed);
  const double gradient = std::sqrt(sums.deciding().largest_squares);
  bool is_certain = true;
  for (const ParameterState& each : model.parameters) {
    if (!each.stepped || (has_weights && !each.is_matrix())) continue;
    if (!each.has_change) return;
    is_certain = is_certain && (each.change_norm != 0 || !each.may_change_unseen());
  }
  if (with_gradient > 0 && changed == 0 && gradient > arrived && is_certain) {
    const std::string what = std::string("the step changed no ") + (has_weights ? "weight" : "parameter");
    return tell_no_effect(judge, model, what, with_gradient, gradient, moment.rates->text(moment.optimizer));
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
    Observation seen;
    seen.module = each.module;
    seen.parameter = each.name;
    seen.value = share;
    seen.threshold = nearly_all;
    seen.message =
        "the step left " + percent(share) + " of " + shown(each) +
        " as it was, although they have gradients: the updates are smaller than the type of 16 bits can hold";
    seen.advice = "keep a copy of the parameters in float32 for the optimizer, or raise the learning rate";
    judge.tell(seen);
  }
}

void judge_reach(const Judge& judge, const Moment& moment) {
  const Model& model = *moment.model;
  // Of a step that the trainer tells by hand, the gradients may be gone already.
  const bool by_hand = moment.optimizer == nullptr;
  std::size_t stepped = 0, with_gradient = 0;
  for (const ParameterState& each : model.parameters) {
    if (!each.stepped) continue;
    ++stepped;
    with_gradient += each.is(LOUPE_DRAFT_PARAMETER_GRADIENT) ? 1 : 0;
  }
  const bool moves = model.sums.weights.changed > 0 || model.sums.others.changed > 0;
  if (stepped == 0 || with_gradient > 0 || (by_hand && (model.added_up || moves))) return;
  Observation seen;
  seen.severity = LOUPE_SEVERITY_ERROR;
  seen.module = model.root;
  seen.message = "the optimizer stepped, but none of the " + std::to_string(stepped) + " parameters that it holds of " +
                 whose(model) + " has a gradient: the loss does not reach them";
  seen.advice =
      "see that the loss is computed from the model's output without detach(), data() or NoGradGuard, and "
      "that backward() is called on it";
  judge.tell(seen);
}

/// Parameters that cannot move, since no gradient comes to them though their module ran.
void judge_unreached(const Judge& judge, const Moment& moment) {
  Model& model = *moment.model;
  if (moment.optimizer == nullptr && model.is_on_device) return;
  bool any_gradient = false;
  for (const ParameterState& each : model.parameters) {
    const bool has_numbers = each.gradients > 0 && each.gradient_norm > 0;
    any_gradient =
        any_gradient || (each.stepped && (model.is_on_device ? each.is(LOUPE_DRAFT_PARAMETER_GRADIENT) : has_numbers));
  }
  for (ParameterState& each : model.parameters) {
    const bool trains = each.is(LOUPE_PARAMETER_TRAINABLE);
    const bool has_gradient = each.is(LOUPE_DRAFT_PARAMETER_GRADIENT) || each.gradients > 0;
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

void judge_device_effect(const Judge& judge, const Moment& moment) {
  const Model& model = *moment.model;
  if (!model.is_on_device) return;
  std::size_t with_gradient = 0;
  double largest = 0;
  for (const ParameterState& each : model.parameters) {
    if (!each.is_matrix() || each.change_count == 0) continue;
    if (each.may_change_unseen() || each.largest_change != 0) return;
    if (each.gradient_count == 0 || !(each.gradient_norm_sum > 0)) continue;
    ++with_gradient;
    largest = std::max(largest, each.gradient_norm_sum / static_cast<double>(each.gradient_count));
  }
  if (with_gradient == 0 || largest <= arrived || model.had_no_rate) return;
  tell_no_effect(judge, model, "no step since the last tick changed a weight", with_gradient, largest);
}

void judge_training_mode(const Judge& judge, const Moment& moment) {
  const Model& model = *moment.model;
  if (model.training_runs == 0 && model.evaluation_runs > 0 && model.added_up) {
    Observation seen;
    seen.severity = depends_on_mode(model) ? LOUPE_SEVERITY_ERROR : LOUPE_SEVERITY_INFO;
    seen.module = model.root;
    seen.message = "the whole of " + whose(model) + " is in eval mode while it is trained" +
                   effects_of_mode(model, "dropout is off", "batch norms do not learn");
    seen.advice = "call model->train() before each training epoch";
    judge.tell(seen);
  }
  if (model.dropped_in_eval != nullptr) {
    Observation seen;
    seen.module = model.dropped_in_eval->module;
    seen.message = "the function '" + model.dropped_in_eval->type + "' drops values while " + whose(model) +
                   " is in eval mode: its training argument is true by default";
    seen.advice = "pass is_training() to it, or use the module torch::nn::Dropout";
    judge.tell(seen);
  }
}

void judge_validation_mode(const Judge& judge, const Moment& moment) {
  Model& model = *moment.model;
  if (!moment.was_validated || model.steps == 0 || model.is_broken) return;
  model.end_pass();
  if (model.passes == 0 || model.training_passes != model.passes || model.added_up) return;
  const bool sure = model.passes_without_grad == model.passes || model.passes >= 2;
  if (!sure) return;
  Observation seen;
  seen.at_tick = true;
  seen.severity = depends_on_mode(model) ? LOUPE_SEVERITY_WARNING : LOUPE_SEVERITY_INFO;
  seen.module = model.root;
  seen.message = whose(model) + " is in training mode while it is validated" +
                 effects_of_mode(model, "dropout is on", "batch norms take in the validation data");
  seen.advice = "call model->eval() before the validation, and model->train() after it";
  judge.tell(seen);
}

void judge_no_step(const Judge& judge, const Moment& moment) {
  const Model& model = *moment.model;
  const bool changed = std::any_of(model.parameters.begin(), model.parameters.end(),
                                   [](const ParameterState& each) { return each.is(LOUPE_DRAFT_PARAMETER_CHANGED); });
  if (!model.has_backward || moment.was_stepped || changed) return;
  Observation seen;
  seen.at_tick = true;
  seen.severity = LOUPE_SEVERITY_ERROR;
  seen.module = model.root;
  seen.message = "gradients were made in this epoch, but no optimizer stepped and no parameter changed";
  seen.advice = "call optimizer.step() after backward()";
  judge.tell(seen);
}

/// What a parameter was reported for holds until it is seen to be over.
void judge_standing(const Judge& judge, const Moment& moment) {
  for (const ParameterState& each : moment.model->parameters) {
    if (!each.is(LOUPE_PARAMETER_TRAINABLE) || !each.is(LOUPE_PARAMETER_OPTIMIZED)) continue;
    if (each.told_of_zeros && each.nonzero_gradients == 0) {
      tell_zeros(judge, each);
    } else if (each.cut_off_steps >= steps_enough) {
      tell_cut_off(judge, each);
    }
  }
}

void judge_never_reached(const Judge& judge, const Moment& moment) {
  const Model& model = *moment.model;
  if (model.is_broken) return;
  // Where nothing has gradients at all, nothing_trainable reports that.
  if (std::all_of(model.parameters.begin(), model.parameters.end(),
                  [](const ParameterState& each) { return each.steps_with_gradient == 0; }))
    return;
  constexpr uint64_t steps_enough = 4;
  for (const ParameterState& each : model.parameters) {
    if (each.steps < steps_enough || each.steps_with_gradient > 0 || !each.is(LOUPE_PARAMETER_TRAINABLE)) continue;
    if (each.ever_changed) continue;                   // in steps that nobody looked at
    if (each.cut_off_steps >= steps_enough) continue;  // of which more is known
    Observation seen;
    seen.at_tick = true;
    seen.module = each.module;
    seen.parameter = each.name;
    seen.message = shown(each) + " is in the optimizer, but in " + std::to_string(each.steps) +
                   " steps no gradient came to it, so it never changed";
    seen.advice = "see that its module runs and that the loss depends on it, or freeze it with requires_grad_(false)";
    judge.see(seen);
  }
}

}  // namespace loupe::health
