// Rules about the training loop: certain, without thresholds.

#include <loupe/draft/abi/flags.h>
#include <algorithm>
#include <cmath>

#include "health/rules/elements.h"
#include "health/rules/rate_history.h"
#include "health/rules/rule.h"

namespace loupe::health {
namespace {

/// Below this norm training has converged: updates lost in rounding do no harm.
constexpr double arrived = 1e-5;

constexpr const char* cleared_too_early =
    "call zero_grad() before backward(), not between backward() and step(): the gradients were ";

/// The parameters of a step: those with a gradient, and those whose gradient was removed after the backward pass, as by
/// zero_grad() of LibTorch 2.
struct Reach {
  std::size_t stepped = 0, with_gradient = 0, lost = 0;
};

Reach reach_of(const Model& model) {
  Reach reach;
  for (const ParameterState& each : model.parameters) {
    if (!each.stepped) continue;
    ++reach.stepped;
    const bool has_gradient = each.is(LOUPE_DRAFT_PARAMETER_GRADIENT);
    reach.with_gradient += has_gradient ? 1 : 0;
    reach.lost += !has_gradient && (model.is_on_device ? model.step.added_up : each.gradients > 0) ? 1 : 0;
  }
  return reach;
}

/// Whether all gradients of the backward pass were set to 0 before the step.
bool are_cleared_before_step(const Judge& judge, const Model& model) {
  bool any_gradient = false, all_zero = true;
  for (const ParameterState& each : model.parameters) {
    if (!each.stepped || !(each.gradient_norm > 0)) continue;
    all_zero = false;
    read(judge.host, each, true, [&](const Elements& gradient) {
      const Extent extent = gradient.extent();
      any_gradient = true;
      all_zero = extent.largest == 0 && extent.is_finite();
    });
    if (!all_zero) return false;
  }
  return any_gradient;
}

void tell_no_effect(const Judge& judge, const Model& model, const std::string& what, std::size_t with_gradient,
                    double largest_gradient, const std::string& rate = {}) {
  judge.tell({.module = model.root, .value = 0},
             sentence(what, " of ", whose(model), ", although ", with_gradient, " have gradients (the largest norm is ",
                      largest_gradient, ")", rate),
             are_cleared_before_step(judge, model)
                 ? std::string(cleared_too_early) + "all 0 when the step was taken"
                 : "check that the learning rate is not so small that updates are lost in rounding, and that the "
                   "optimizer holds the model's own parameters");
}

/// The first layer that was silent so far in this window, if that can be why a parameter's gradient is 0: the layer
/// comes after the parameter, or its zeros are the input of the parameter's layer. `dead_units` needs longer to be
/// sure.
const Layer* silent_layer_for(const Model& model, const ParameterState& state) {
  constexpr uint64_t to_next_layer = 2;  // a dropout or similar layer may be in between
  const uint64_t place = state.runs != nullptr ? state.runs->first_run : 0;
  const Layer* first = nullptr;
  for (const Layer& layer : model.layers) {
    const bool is_silent =
        layer.role == Role::rectifier && layer.looks > 0 && !layer.alive.empty() && layer.alive_units == 0;
    if (!is_silent || place == 0 || layer.first_run == 0 || place > layer.first_run + to_next_layer) continue;
    if (first == nullptr || layer.first_run < first->first_run) first = &layer;
  }
  return first;
}

void tell_zeros(const Judge& judge, const Model& model, const ParameterState& state) {
  const Layer* silent = silent_layer_for(model, state);
  judge.tell({.module = state.module,
              .parameter = state.name,
              .value = 0,
              .place = state.runs != nullptr ? state.runs->first_run : 0},
             sentence("the gradient of ", shown(state), " has been 0 in each of the first ", state.seen_gradients,
                      " steps, so it learns nothing"),
             silent != nullptr
                 ? sentence("all units of '", silent->name,
                            "' are silent: check that the biases of the layer before it do "
                            "not start far below 0 and that its input has unit scale, or use LeakyReLU")
                 : "check that the loss uses its output, and that neither its module's input nor the next layer's "
                   "output is all zero");
}

void tell_cut_off(const Judge& judge, const ParameterState& state) {
  judge.tell({.module = state.module, .parameter = state.name},
             sentence(shown(state),
                      " is in the optimizer and its module runs, but the loss does not reach it, so it never changes"),
             "look for a detach(), a NoGradGuard or an output that is not used between this module and the loss");
}

bool depends_on_mode(const Model& model) {
  return model.drops() || model.has_batch_norm();
}

/// Describes the effect of the wrong mode, for the end of a sentence.
std::string effects_of_mode(const Model& model, const std::string& on_dropout, const std::string& on_norms) {
  if (!depends_on_mode(model)) return ", which has no effect here";
  const bool drops = model.drops(), normalizes = model.has_batch_norm();
  return ": " + (drops ? on_dropout : "") + (drops && normalizes ? " and " : "") + (normalizes ? on_norms : "");
}

bool any_is(const Model& model, uint32_t flag) {
  return std::ranges::any_of(model.parameters, [&](const ParameterState& each) { return each.is(flag); });
}

/// Tensors of an optimizer that do not belong to the model.
struct ForeignParameters {
  uint64_t tensors = 0, unknown = 0;  ///< all of them; those of no attached model
  int64_t unknown_elements = 0;
};

ForeignParameters foreign_parameters_in(const loupe_optimizer& optimizer) {
  ForeignParameters foreign;
  for (std::size_t i = 0; i < optimizer.group_count; ++i) {
    const loupe_parameter_group& group = *optimizer.groups[i];
    foreign.tensors += group.tensor_count;
    foreign.unknown += group.unknown_tensor_count;
    foreign.unknown_elements += group.unknown_element_count;
  }
  return foreign;
}

/// Whether an optimizer attached for the model holds only copies of its parameters, or another model's.
bool holds_copies(const Model& model, const ForeignParameters& foreign) {
  const bool any_held = std::ranges::any_of(model.parameters, [](const auto& each) {
    return each.is(LOUPE_PARAMETER_OPTIMIZED) || !each.is(LOUPE_PARAMETER_TRAINABLE);
  });
  return foreign.tensors > 0 && !any_held &&
         (foreign.unknown == foreign.tensors || any_is(model, LOUPE_DRAFT_PARAMETER_GRADIENT));
}

/// The model's parameters that an optimizer lacks while it holds some that belong to no model; empty if that may be
/// intended.
std::vector<const ParameterState*> replaced_parameters(const Model& model, const ForeignParameters& foreign) {
  if (foreign.unknown == 0 || holds_copies(model, foreign)) return {};
  int64_t elements = 0;
  std::vector<const ParameterState*> lacking;
  for (const ParameterState& each : model.parameters) {
    if (!each.is(LOUPE_PARAMETER_TRAINABLE) || each.is(LOUPE_PARAMETER_OPTIMIZED)) continue;
    elements += each.parameter->numel;
    lacking.push_back(&each);
  }
  // Parameters of a model that is not attached may be unrelated to those missing here.
  if (2 * foreign.unknown_elements < elements) lacking.clear();
  return lacking;
}

/// Hashes some of its values; 0 if they cannot be read.
uint64_t hash_of(const Judge& judge, const ParameterState& state) {
  constexpr int64_t most = 1024;
  uint64_t hash = 0;
  read(judge.host, state, false, [&](const Elements& values) { hash = values.hash(most); });
  return hash;
}

void tell_unheld(const Judge& judge, const ParameterState& state) {
  judge.tell({.module = state.module, .parameter = state.name},
             sentence(shown(state), " gets gradients, but no optimizer holds it, so it never changes"),
             "add it to the optimizer, attach the optimizer that holds it (inspector.attach_optimizer), or freeze it "
             "with requires_grad_(false)");
}

void judge_clearing(const Judge& judge, const Situation& situation) {
  const Model& model = *situation.model;
  std::size_t kept = 0;
  const ParameterState* first = nullptr;
  for (const ParameterState& each : model.parameters) {
    if (!each.stepped || !each.not_cleared) continue;
    ++kept;
    if (first == nullptr) first = &each;
  }
  if (first == nullptr) return;
  judge.tell({.module = model.root},
             sentence("the step used gradients that still contained those of the step before, for ", kept, " of ",
                      model.step.sums.counts.stepped, " parameters, such as ", shown(*first)));
}

/// A step without a backward pass since the step before uses that step's gradients again.
void judge_reuse(const Judge& judge, const Situation& situation) {
  constexpr uint64_t enough = 8, usual_share = 4;
  constexpr double rounding = 1e-6;
  Model& model = *situation.model;
  if (situation.optimizer == nullptr || model.is_on_device || model.step.added_up || model.searches_steps) return;
  for (const ParameterState& each : model.parameters) {
    if (!each.stepped || !each.is_reused || !each.is_matrix() || !(each.gradient_norm > 0)) continue;
    const UsedGradient used = used_gradient(judge, each);
    const double squares = each.gradient_norm * each.gradient_norm;
    if (!used.is_known || std::abs(used.squares - squares) > rounding * squares) return;
    if (++model.reused_steps < enough || usual_share * model.reused_steps < model.steps) return;
    return judge.tell({.severity = LOUPE_SEVERITY_WARNING, .module = model.root},
                      sentence(model.reused_steps, " steps used the same gradients of ", whose(model),
                               " again: no backward pass came since the step before"),
                      "call step() once after each backward(), and give each parameter to one optimizer");
  }
}

void judge_effect(const Judge& judge, const Situation& situation) {
  Model& model = *situation.model;
  if (model.is_on_device || !model.knows_each()) return;
  if (model.searches_steps) return;            // a converged search does not move
  if (!has_rate(situation.optimizer)) return;  // zero_learning_rate reports that
  // A bias that begins at 0 moves with any update, so weights decide if there are any.
  const StepSums& sums = model.step.sums;
  const bool moves = sums.weights.changed > 0 || sums.others.changed > 0;  // an optimizer may clear gradients itself
  const Reach reach = moves ? Reach{} : reach_of(model);
  if (situation.optimizer != nullptr && reach.with_gradient == 0 && reach.lost > 0) {
    return judge.tell(
        {.module = model.root, .value = 0},
        sentence("the step changed nothing in ", whose(model), ": the backward pass made gradients, and none of ",
                 reach.stepped, " parameters had one at the step"),
        std::string(cleared_too_early) + "gone when the step was taken");
  }
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
    return tell_no_effect(judge, model, what, with_gradient, gradient, situation.rates->text(situation.optimizer));
  }
  // Training in 16 bits tolerates occasionally lost updates.
  constexpr int64_t enough = 32;
  constexpr double nearly_all = 0.95;
  for (ParameterState& each : model.parameters) {
    each.largest_gradient = std::max(each.largest_gradient, each.gradient_norm);
    const bool has_arrived = each.gradient_norm < 0.1 * each.largest_gradient;
    if (!each.stepped || !each.is_matrix() || has_arrived || each.low_precision_seen < enough) continue;
    const double share =
        static_cast<double>(each.low_precision_unchanged) / static_cast<double>(each.low_precision_seen);
    if (share <= nearly_all) continue;
    judge.tell({.severity = LOUPE_SEVERITY_WARNING,
                .module = each.module,
                .parameter = each.name,
                .value = share,
                .threshold = nearly_all},
               sentence("the step left ", percent(share), " of ", shown(each),
                        " unchanged, although they have gradients: the updates are too small for the 16-bit type"),
               "keep a copy of the parameters in float32 for the optimizer, or raise the learning rate");
  }
}

void judge_reach(const Judge& judge, const Situation& situation) {
  Model& model = *situation.model;
  // If the trainer reports a step by hand, its gradients may already be cleared.
  const bool by_hand = situation.optimizer == nullptr;
  const bool moves = model.step.sums.weights.changed > 0 || model.step.sums.others.changed > 0;
  const Reach reach = moves ? Reach{} : reach_of(model);
  const bool may_reach = reach.with_gradient > 0 || reach.lost > 0 || (by_hand && model.step.added_up);
  // The first step may come before the first backward pass.
  model.unreached_steps = reach.stepped == 0 || may_reach ? 0 : model.unreached_steps + 1;
  if (model.unreached_steps < steps_enough) return;
  judge.tell(
      {.module = model.root},
      sentence("the optimizer stepped, but none of the ", reach.stepped, " parameters of ", whose(model),
               " has a gradient: the loss does not reach them"),
      "check that the loss is computed from the model's output without detach(), data() or NoGradGuard, and that "
      "backward() is called on it");
}

/// Reports parameters that cannot move, because they get no gradient although their module ran.
void judge_unreached(const Judge& judge, const Situation& situation) {
  Model& model = *situation.model;
  if (situation.optimizer == nullptr && model.is_on_device) return;
  bool any_gradient = false;
  for (const ParameterState& each : model.parameters) {
    const bool has_numbers = each.gradients > 0 && each.gradient_norm > 0;
    any_gradient =
        any_gradient || (each.stepped && (model.is_on_device ? each.is(LOUPE_DRAFT_PARAMETER_GRADIENT) : has_numbers));
  }
  // Gradients before a weight that begins at zero, as for an output or a gate, are 0 until it has moved.
  constexpr uint64_t patience = 32, looks_enough = 6;
  const bool any_zeros = std::ranges::any_of(model.parameters, [](const ParameterState& each) {
    return each.stepped && each.passes_gradients() && each.has_change && each.is_all_new(each.change_norm);
  });
  for (ParameterState& each : model.parameters) {
    const bool trains = each.is(LOUPE_PARAMETER_TRAINABLE);
    const bool has_gradient = each.is(LOUPE_DRAFT_PARAMETER_GRADIENT) || each.gradients > 0;
    const bool ran = each.runs != nullptr && each.runs->trained_at == model.step_now;
    const bool rests = each.runs != nullptr && ((each.runs->rests & LOUPE_REST_EVENTS) != 0 || each.runs->is_added_up);
    const bool lacks = trains && each.stepped && !has_gradient && any_gradient;
    if (!rests) each.cut_off_steps = lacks && ran ? each.cut_off_steps + 1 : 0;
    if (rests && lacks) model.resting.begin_anew();  // this shows whether its module runs
    // Counts gradients that were all zeros from the first step on.
    if (each.stepped && each.gradients > 0) {
      each.nonzero_gradients += each.gradient_norm != 0 ? 1 : 0;
      ++each.seen_gradients;
      each.telling_gradients += any_zeros ? 0 : 1;
    }
    const bool is_told =
        each.telling_gradients >= steps_enough || (model.steps >= patience && each.seen_gradients >= looks_enough);
    const bool is_zero = trains && each.is_matrix() && any_gradient && each.nonzero_gradients == 0 && is_told;
    if (is_zero && !each.told_of_zeros) {
      each.told_of_zeros = true;
      tell_zeros(judge, *situation.model, each);
    } else if (each.cut_off_steps == steps_enough) {
      tell_cut_off(judge, each);
    }
  }
}

/// Reports a model whose loss may reach it, but with a factor of 0.
void judge_zeros(const Judge& judge, const Situation& situation) {
  constexpr uint32_t enough = 32;
  Model& model = *situation.model;
  const StepSums& sums = model.step.sums;
  if (sums.counts.both == 0 && sums.counts.gradients == 0) return;
  model.had_gradient = model.had_gradient || sums.weights.with_gradient > 0 || sums.others.with_gradient > 0;
  if (model.had_gradient || ++model.zero_steps < enough) return;
  judge.tell({.module = model.root, .value = 0, .place = 1},
             sentence("all gradients of ", whose(model), " were exactly 0 in each of the ", model.zero_steps,
                      model.had_gaps ? " measured steps so far" : " steps so far, so it learns nothing"),
             "check that its part of the loss is not multiplied by 0, such as by 1 / 2 of whole numbers, and that its "
             "output is used");
}

void judge_device_effect(const Judge& judge, const Situation& situation) {
  const Model& model = *situation.model;
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
  if (with_gradient == 0 || largest <= arrived || model.window.had_no_rate) return;
  tell_no_effect(judge, model, "no step since the last tick changed a weight", with_gradient, largest);
}

void judge_training_mode(const Judge& judge, const Situation& situation) {
  const Model& model = *situation.model;
  if (model.step.training_runs == 0 && model.step.evaluation_runs > 0 && model.step.added_up) {
    judge.tell({.severity = depends_on_mode(model) ? LOUPE_SEVERITY_ERROR : LOUPE_SEVERITY_INFO, .module = model.root},
               sentence("all of ", whose(model), " is in eval mode during training",
                        effects_of_mode(model, "dropout is off", "batch norms do not learn")),
               "call model->train() before each training epoch");
  }
  if (model.step.dropped_in_eval != nullptr) {
    judge.tell({.module = model.step.dropped_in_eval->module},
               sentence("the function '", model.step.dropped_in_eval->type, "' drops values while ", whose(model),
                        " is in eval mode: its training argument is true by default"),
               "pass is_training() to it, or use the module torch::nn::Dropout");
  }
}

void judge_validation_mode(const Judge& judge, const Situation& situation) {
  Model& model = *situation.model;
  if (!situation.was_validated || model.steps == 0 || model.is_broken) return;
  model.end_pass();
  if (model.step.passes == 0 || model.step.training_passes != model.step.passes || model.step.added_up) return;
  const bool sure = model.step.passes_without_grad == model.step.passes || model.step.passes >= 2;
  if (!sure) return;
  judge.tell({.severity = depends_on_mode(model) ? LOUPE_SEVERITY_WARNING : LOUPE_SEVERITY_INFO, .module = model.root},
             sentence(whose(model), " is in training mode during validation",
                      effects_of_mode(model, "dropout is on", "batch norms learn from the validation data")),
             "call model->eval() before the validation, and model->train() after it");
}

void judge_no_step(const Judge& judge, const Situation& situation) {
  Model& model = *situation.model;
  const bool changed = std::ranges::any_of(
      model.parameters, [](const ParameterState& each) { return each.is(LOUPE_DRAFT_PARAMETER_CHANGED); });
  const bool lacks_steps = model.epoch.has_backward && !situation.was_stepped && !changed;
  model.epochs_without_step = lacks_steps ? model.epochs_without_step + 1 : 0;
  // A step may still come: each replica on a thread may end an epoch as it begins the next.
  const bool are_too_many = std::ranges::any_of(model.parameters, [](const ParameterState& each) {
    return each.gradients > std::max(each.gradients_of_step, 1U);
  });
  if (!lacks_steps || (!are_too_many && model.epochs_without_step < 2)) return;
  judge.tell({.module = model.root}, sentence("gradients were computed in epoch ", situation.epoch,
                                              ", but no optimizer stepped and no parameter changed"));
}

/// Reports again the faults of each parameter that persist.
void judge_standing(const Judge& judge, const Situation& situation) {
  for (const ParameterState& each : situation.model->parameters) {
    if (!each.is(LOUPE_PARAMETER_TRAINABLE)) continue;
    if (!each.is(LOUPE_PARAMETER_OPTIMIZED)) {
      if (each.unoptimized_steps >= steps_enough) tell_unheld(judge, each);
    } else if (each.told_of_zeros && each.nonzero_gradients == 0) {
      tell_zeros(judge, *situation.model, each);
    } else if (each.cut_off_steps >= steps_enough) {
      tell_cut_off(judge, each);
    }
  }
}

void judge_never_reached(const Judge& judge, const Situation& situation) {
  Model& model = *situation.model;
  if (model.is_broken) return;
  // If nothing has gradients, nothing_trainable reports that.
  if (std::ranges::all_of(model.parameters, [](const ParameterState& each) { return each.steps_with_gradient == 0; }))
    return;
  constexpr uint64_t steps_enough = 4;
  for (ParameterState& each : model.parameters) {
    if (each.steps < steps_enough || each.steps_with_gradient > 0 || !each.is(LOUPE_PARAMETER_TRAINABLE)) continue;
    if (each.seen_gradients > 0) continue;             // got some, which were reset before the step
    if (each.ever_changed) continue;                   // changed by something other than its optimizer
    if (each.cut_off_steps >= steps_enough) continue;  // reported as cut off
    // A gradient may have come in a step that was not measured.
    each.told_unreached = each.told_unreached || !model.had_gaps;
    if (!each.told_unreached) continue;
    judge.see({.module = each.module, .parameter = each.name},
              sentence(shown(each), " is in the optimizer, but in ", each.steps,
                       " steps it got no gradient, so it never changed"),
              "check that its module runs and that the loss depends on it, or freeze it with requires_grad_(false)");
  }
}

void judge_copies(const Judge& judge, const Situation& situation) {
  const Model& model = *situation.model;
  const ForeignParameters foreign = foreign_parameters_in(*situation.optimizer);
  if (!holds_copies(model, foreign)) return;
  // An optimizer attached with the wrong model still trains another one.
  const bool is_of_another = foreign.unknown < foreign.tensors;
  judge.tell(
      {.severity = is_of_another ? LOUPE_SEVERITY_WARNING : LOUPE_SEVERITY_ERROR, .module = model.root, .value = 0},
      sentence("the step of ", situation.optimizer->type, " changed nothing in ", whose(model), ": all ",
               foreign.tensors, " parameters that it holds are ",
               (foreign.unknown == 0 ? "another model's" : "not the model's")),
      is_of_another ? "create the optimizer with this model's own parameters, or attach the one that holds them"
                    : "create the optimizer with model->parameters(), not with copies of them");
}

void judge_stale(const Judge& judge, const Situation& situation) {
  const ForeignParameters foreign = foreign_parameters_in(*situation.optimizer);
  const auto lacking = replaced_parameters(*situation.model, foreign);
  if (lacking.empty()) return;
  judge.tell({.module = lacking.front()->module},
             sentence("the optimizer ", situation.optimizer->type, " holds ", foreign.unknown,
                      " parameters that the model does not have, and lacks ", lacking.size(), " that it has, such as ",
                      shown(*lacking.front())));
}

/// Reports parameters that get gradients while their model's optimizers step but do not hold them, unless the program
/// changes them itself: by hand, or by the step of another process.
void judge_unheld(const Judge& judge, const Situation& situation) {
  Model& model = *situation.model;
  if (model.step.is_plain) return;
  const ForeignParameters foreign = foreign_parameters_in(*situation.optimizer);
  if (holds_copies(model, foreign) || !replaced_parameters(model, foreign).empty()) return;
  for (ParameterState& each : model.parameters) {
    const bool unheld = each.is(LOUPE_PARAMETER_TRAINABLE) && !each.is(LOUPE_PARAMETER_OPTIMIZED) &&
                        each.is(LOUPE_DRAFT_PARAMETER_GRADIENT) && (each.gradients > 0 || model.is_on_device);
    each.unoptimized_steps = unheld && !each.changes_elsewhere ? each.unoptimized_steps + 1 : 0;
    if (each.unoptimized_steps == 0 || each.unoptimized_steps > steps_enough) continue;
    const uint64_t hash = hash_of(judge, each);
    each.changes_elsewhere = each.unoptimized_steps > 1 && hash != each.unoptimized_hash;
    each.unoptimized_hash = hash;
    if (each.changes_elsewhere) {
      each.unoptimized_steps = 0;
    } else if (each.unoptimized_steps == steps_enough) {
      tell_unheld(judge, each);
    }
  }
}

void judge_untrainable(const Judge& judge, const Situation& situation) {
  Model& model = *situation.model;
  const ForeignParameters foreign = foreign_parameters_in(*situation.optimizer);
  const bool is_frozen = model.step.sums.counts.stepped == 0 && !model.parameters.empty() &&
                         (foreign.tensors == 0 || foreign.unknown < foreign.tensors) &&
                         !any_is(model, LOUPE_PARAMETER_TRAINABLE);
  model.frozen_steps = is_frozen ? model.frozen_steps + 1 : 0;
  // A critic is frozen only while the policy steps.
  constexpr uint32_t enough_of_a_trained_one = 32;
  if (model.frozen_steps < (model.steps > 0 ? enough_of_a_trained_one : steps_enough)) return;
  judge.tell({.module = model.root},
             sentence("none of the ", model.parameters.size(), " parameters of ", whose(model),
                      " requires a gradient, though an optimizer steps"),
             "call requires_grad_(true) on the parameters to train");
}

/// A target network, as in Q-learning, must follow the one that learns. Similar networks, such as the policy that an
/// agent must stay close to, are not reported.
void judge_still_target(const Judge& judge, const Situation& situation) {
  const Model& model = *situation.model;
  const StillTwin* twin = situation.still_twin;
  // A target that begins as a copy may be updated only after very many steps.
  constexpr uint64_t enough = 300, enough_of_a_copy = 20000, ticks_enough = 2;
  if (twin == nullptr || !model.acts() || !situation.compares_numbers || situation.compares_classes) return;
  if (model.steps < (twin->began_elsewhere ? enough : enough_of_a_copy) || model.ticks < ticks_enough) return;
  judge.tell({.module = twin->root, .value = static_cast<double>(model.steps)},
             sentence("'", twin->name, "' has the shape of ", whose(model), ", which acts and learns, and ran ",
                      twin->passes, " times without gradients, but its weights have never changed in ", model.steps,
                      " steps: targets made with it do not follow the learning"));
}

}  // namespace

std::vector<Rule> loop_rules() {
  return {
      {.name = "gradients_not_cleared",
       .severity = LOUPE_SEVERITY_ERROR,
       .help = "error or warning; a step's gradients still contain, or are, those of the step before",
       .measure = "whether a gradient was 0 when the first backward pass after a step began; 8 steps, and a quarter of "
                  "all, without a backward pass since the step before",
       .remedy = "call optimizer.zero_grad() once between two steps, before the backward pass",
       .looks = {{When::parameters, &judge_clearing}, {When::parameters, &judge_reuse}},
       .is_blind_on_devices = true,
       .brings_about = {{.effects = {"exploding_gradient", "dead_units", "saturated_activation", "constant_output",
                                     "loss_spike", "loss_oscillating", "diverging_loss", "update_ratio",
                                     "loss_not_decreasing"}}},
       .example = R"( for (auto& batch : *loader) {
-  loss_of(model, batch).backward();  // adds to the last step's gradients
+  optimizer.zero_grad();
+  loss_of(model, batch).backward();
   optimizer.step();
 })"},
      {.name = "no_step",
       .severity = LOUPE_SEVERITY_ERROR,
       .help = "error; a whole epoch computes gradients, but no optimizer steps",
       .measure = "gradients and steps between two ticks; two epochs in a row",
       .remedy = "call optimizer.step() after backward()",
       .looks = {{When::tick, &judge_no_step}},
       .brings_about = {{.effects = {"loss_not_decreasing", "unchanged_parameter"}}},
       .example = R"( optimizer.zero_grad();
-loss.backward();  // makes gradients, and nobody uses them
+loss.backward();
+optimizer.step();)"},
      {.name = "no_effect",
       .severity = LOUPE_SEVERITY_ERROR,
       .help = "error or warning; a step changes nothing; a warning if its changes are too small for 16 bits, or the "
               "optimizer "
               "also has parameters of another model",
       .measure = "changes of weights with gradients above 1e-5; with 16 bits 95 % of a weight left as it was",
       .remedy =
           "give the optimizer the model's own parameters, clear gradients before backward(), and raise a tiny rate",
       .looks = {{When::settings, &judge_copies},
                 {When::parameters, &judge_effect},
                 {When::window, &judge_device_effect}},
       .brings_about = {{.effects = {"unchanged_parameter", "update_ratio", "loss_not_decreasing"}}},
       .example = R"(+optimizer.zero_grad();
 loss.backward();
-optimizer.zero_grad();  // clears what backward() has just made
 optimizer.step();)"},
      {.name = "nothing_trainable",
       .severity = LOUPE_SEVERITY_ERROR,
       .help = "error; nothing requires a gradient, or the loss reaches nothing",
       .measure = "whether any parameter that the optimizer holds is trainable and gets a gradient; two steps in a "
                  "row, or 32 of a model that was trained before",
       .remedy = "call requires_grad_(true) on the parameters to train; check that no detach() cuts off the loss",
       .looks = {{When::optimizer, &judge_untrainable}, {When::parameters, &judge_reach}},
       .brings_about = {{.effects = {"unchanged_parameter", "vanishing_gradient", "dead_units", "constant_output",
                                     "update_ratio", "loss_not_decreasing"}}},
       .example = R"(-auto output = model->forward(x).detach();  // ends the graph here
-auto loss = torch::mse_loss(output, y).requires_grad_();
+auto output = model->forward(x);
+auto loss = torch::mse_loss(output, y);
 loss.backward();)"},
      {.name = "unchanged_parameter",
       .help = "warning; a parameter is in no optimizer, or cut off from the loss",
       .measure = "gradients and steps of each parameter; two steps in a row, or 32 after a weight that is zero or for "
                  "all of a model",
       .remedy = "add it to the optimizer, check that the loss depends on it, or freeze it with requires_grad_(false)",
       .looks = {{When::optimizer, &judge_unheld},
                 {When::parameters, &judge_unreached},
                 {When::step, &judge_zeros},
                 {When::window, &judge_standing},
                 {When::tick, &judge_never_reached}},
       .brings_about = {{.effects = {"update_ratio", "loss_not_decreasing"}}},
       .example = R"(-// Not those of model->decoder:
-torch::optim::Adam optimizer(model->encoder->parameters());
+torch::optim::Adam optimizer(model->parameters());)"},
      {.name = "stale_optimizer",
       .severity = LOUPE_SEVERITY_ERROR,
       .help = "error; the optimizer holds parameters that the model no longer has",
       .measure = "the optimizer's tensors, against the model's parameters",
       .remedy = "create a new optimizer after a layer is replaced or the model is copied",
       .looks = {{When::settings, &judge_stale}},
       .brings_about = {{.effects = {"unchanged_parameter", "update_ratio", "loss_not_decreasing"}}},
       .example = R"(-torch::optim::Adam optimizer(model->parameters());
-// The optimizer goes on with the old head.
 torch::nn::Linear head(512, 10);
 model->head = model->replace_module("head", head);
+torch::optim::Adam optimizer(model->parameters());)"},
      {.name = "mode_mismatch",
       .help =
           "error, warning or info; trained in eval mode, validated in training mode, dropout left on; info without "
           "dropout and batch norm",
       .measure = "the mode of each layer when it runs in training and in validation",
       .remedy = "call train() before each training epoch and eval() before each validation",
       .looks = {{When::step, &judge_training_mode}, {When::tick, &judge_validation_mode}},
       .brings_about = {{.effects = {"loss_not_decreasing"}}},
       .example = R"( for (int epoch = 0; epoch < 20; ++epoch) {
-  train(model);  // from the second epoch on in eval mode
+  model->train();
+  train(model);
   model->eval();
   validate(model);
 })"},
      {.name = "still_target",
       .help = "warning; an agent learns, but its target network, also attached, never follows",
       .measure = "changes of a target network in 300 steps of the one that learns; 20000 for a copy",
       .remedy = "copy the learning net's weights into it every few hundred steps, or blend in a few of them at each; "
                 "check that they are not copied from the target itself",
       .looks = {{When::tick, &judge_still_target}},
       .brings_about = {{.effects = {"loss_not_decreasing"}}},
       .example = R"(-if (step % 500 == 0) copy_weights(/*from=*/target, /*to=*/target);
+if (step % 500 == 0) copy_weights(/*from=*/online, /*to=*/target);)"},
  };
}

}  // namespace loupe::health
