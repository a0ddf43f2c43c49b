// Rules about the optimizer: its rates, and whose parameters it holds.

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "health/rules/elements.h"

#include <loupe/draft/abi/flags.h>
#include "health/rules/rate_history.h"
#include "health/rules/rule.h"

namespace loupe::health {
namespace {

bool any_is(const Model& model, uint32_t flag) {
  return std::any_of(model.parameters.begin(), model.parameters.end(),
                     [&](const ParameterState& each) { return each.is(flag); });
}

/// What an optimizer holds that is not of the model.
struct Strangers {
  uint64_t tensors = 0, unknown = 0;  ///< in all; of no attached model
  int64_t unknown_elements = 0;
};

Strangers strangers_in(const loupe_optimizer& optimizer) {
  Strangers strangers;
  for (std::size_t i = 0; i < optimizer.group_count; ++i) {
    const loupe_parameter_group& group = *optimizer.groups[i];
    strangers.tensors += group.tensor_count;
    strangers.unknown += group.unknown_tensor_count;
    strangers.unknown_elements += group.unknown_element_count;
  }
  return strangers;
}

/// Whether an optimizer that was attached for the model holds none of its parameters: copies of them, or another
/// model's.
bool holds_copies(const Model& model, const Strangers& strangers) {
  const bool any_held = std::any_of(model.parameters.begin(), model.parameters.end(), [](const auto& each) {
    return each.is(LOUPE_PARAMETER_OPTIMIZED) || !each.is(LOUPE_PARAMETER_TRAINABLE);
  });
  return strangers.tensors > 0 && !any_held &&
         (strangers.unknown == strangers.tensors || any_is(model, LOUPE_DRAFT_PARAMETER_GRADIENT));
}

/// The parameters of the model that an optimizer lacks while it holds some that no model has; none where that may be
/// meant.
std::vector<const ParameterState*> replaced_parameters(const Model& model, const Strangers& strangers) {
  if (strangers.unknown == 0 || holds_copies(model, strangers)) return {};
  int64_t elements = 0;
  std::vector<const ParameterState*> lacking;
  for (const ParameterState& each : model.parameters) {
    if (!each.is(LOUPE_PARAMETER_TRAINABLE) || each.is(LOUPE_PARAMETER_OPTIMIZED)) continue;
    elements += each.parameter->numel;
    lacking.push_back(&each);
  }
  // Parameters of another model, which is not attached, need not have to do with what is missing here.
  if (2 * strangers.unknown_elements < elements) lacking.clear();
  return lacking;
}

/// Of some of its values; 0 where they cannot be read.
uint64_t hash_of(const Judge& judge, const ParameterState& state) {
  constexpr int64_t most = 1024;
  uint64_t hash = 0;
  judge.host.lend_parameter(state.module, state.name.c_str(), false, [&](const loupe_tensor& tensor) {
    const Elements values(&tensor);
    if (values.readable()) hash = values.hash(most);
  });
  return hash;
}

void tell_unheld(const Judge& judge, const ParameterState& state) {
  Observation seen;
  seen.module = state.module;
  seen.parameter = state.name;
  seen.message = shown(state) + " gets gradients, but no optimizer holds it, so it never changes";
  seen.advice =
      "give it to the optimizer, attach the optimizer that holds it (inspector.attach_optimizer), or freeze it with "
      "requires_grad_(false)";
  judge.tell(seen);
}

}  // namespace

void judge_copies(const Judge& judge, const Moment& moment) {
  const Model& model = *moment.model;
  const Strangers strangers = strangers_in(*moment.optimizer);
  if (!holds_copies(model, strangers)) return;
  // One that was attached beside the wrong model trains another one all the same.
  const bool is_of_another = strangers.unknown < strangers.tensors;
  Observation seen;
  seen.severity = is_of_another ? LOUPE_SEVERITY_WARNING : LOUPE_SEVERITY_ERROR;
  seen.module = model.root;
  seen.value = 0;
  seen.message = std::string("the step of ") + moment.optimizer->type + " changed nothing in " + whose(model) +
                 ": all of the " + std::to_string(strangers.tensors) + " parameters that it holds are " +
                 (strangers.unknown == 0 ? "another model's" : "others than the model's");
  seen.advice = is_of_another ? "make the optimizer of this model's own parameters, or attach the one that holds them"
                              : "make the optimizer of model->parameters() themselves, not of copies of them";
  judge.tell(seen);
}

void judge_stale(const Judge& judge, const Moment& moment) {
  const Strangers strangers = strangers_in(*moment.optimizer);
  const auto lacking = replaced_parameters(*moment.model, strangers);
  if (lacking.empty()) return;
  Observation seen;
  seen.severity = LOUPE_SEVERITY_ERROR;
  seen.module = lacking.front()->module;
  seen.message = std::string("the optimizer ") + moment.optimizer->type + " holds " +
                 std::to_string(strangers.unknown) + " parameters that the model does not have, and does not hold " +
                 std::to_string(lacking.size()) + " that it has, such as " + shown(*lacking.front());
  seen.advice = "make the optimizer anew after a layer is replaced or the model is copied";
  judge.tell(seen);
}

/// Parameters that get gradients in the steps of their model's optimizers, and that none of those holds. The program
/// may change them itself: by hand, or by the step of another process that holds them.
void judge_unheld(const Judge& judge, const Moment& moment) {
  Model& model = *moment.model;
  if (model.step_is_plain) return;
  const Strangers strangers = strangers_in(*moment.optimizer);
  if (holds_copies(model, strangers) || !replaced_parameters(model, strangers).empty()) return;
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

void judge_standing_unheld(const Judge& judge, const Moment& moment) {
  for (const ParameterState& each : moment.model->parameters) {
    const bool is_unheld = each.is(LOUPE_PARAMETER_TRAINABLE) && !each.is(LOUPE_PARAMETER_OPTIMIZED);
    if (is_unheld && each.unoptimized_steps >= steps_enough) tell_unheld(judge, each);
  }
}

void judge_zero_rate(const Judge& judge, const Moment& moment) {
  const loupe_optimizer& optimizer = *moment.optimizer;
  if (!moment.rates->is_judged_with(moment.model, optimizer.id)) return;
  for (std::size_t i = 0; i < optimizer.group_count; ++i) {
    RateHistory::Group& group = moment.rates->groups[{optimizer.id, i}];
    const double rate = learning_rate_of(*optimizer.groups[i]).value_or(NAN);
    group.follow(rate, moment.model->ticks);
    if (rate != 0) {
      group.zeros = 0;
      if (rate > 0) group.last_nonzero = rate;
      continue;
    }
    // A rate that is warmed up may begin at 0, and one that is annealed may end there.
    const bool annealed = group.largest > 0 && group.last_nonzero < 0.05 * group.largest;
    const bool may_be_meant = annealed && (moment.epochs_to_come < 1 || group.returned);
    const uint64_t patience = may_be_meant ? std::max<uint64_t>(10, moment.model->steps / 10) : 2;
    if (++group.zeros < patience) continue;
    const std::string which = "group " + std::to_string(i);
    Observation seen;
    seen.module = moment.model->root;
    if (optimizer.group_count > 1) seen.parameter = which;
    seen.value = 0;
    seen.message = std::string("the learning rate of ") + optimizer.type +
                   (optimizer.group_count > 1 ? ", " + which + "," : "") + " is 0, so that its steps change nothing";
    if (annealed && moment.epochs_to_come >= 1) {
      seen.message += ", and the loop still has " + number(moment.epochs_to_come) + " more epoch" +
                      (moment.epochs_to_come == 1 ? "" : "s") + " after this one";
    }
    seen.advice = "see where the rate is set; to freeze parameters, use requires_grad_(false)";
    judge.tell(seen);
  }
}

void judge_untrainable(const Judge& judge, const Moment& moment) {
  const Model& model = *moment.model;
  if (model.parameters.empty() || any_is(model, LOUPE_PARAMETER_TRAINABLE)) return;
  Observation seen;
  seen.severity = LOUPE_SEVERITY_ERROR;
  seen.module = model.root;
  seen.message = "none of the " + std::to_string(model.parameters.size()) + " parameters of " + whose(model) +
                 " requires a gradient, though an optimizer steps";
  seen.advice = "call requires_grad_(true) for what is to be trained";
  judge.tell(seen);
}

/// What is scheduled for epochs and stepped with each batch comes down, or goes up, beyond all that is of use.
void judge_rate_change(const Judge& judge, const Moment& moment) {
  const loupe_optimizer& optimizer = *moment.optimizer;
  if (!moment.rates->is_judged_with(moment.model, optimizer.id)) return;
  for (std::size_t i = 0; i < optimizer.group_count; ++i) {
    const RateHistory::Group& group = moment.rates->groups[{optimizer.id, i}];
    const double rate = learning_rate_of(*optimizer.groups[i]).value_or(NAN);
    constexpr uint64_t steps_enough = 2;
    const bool fell = group.is_low && rate > 0 && group.now_at > group.low_at && group.steps >= steps_enough;
    const bool rose = group.high_steps >= steps_enough;
    if (!fell && !rose) continue;
    Observation seen;
    seen.module = moment.model->root;
    if (optimizer.group_count > 1) seen.parameter = "group " + std::to_string(i);
    seen.value = rate;
    seen.threshold = fell ? group.largest : group.first;
    seen.message = std::string("the learning rate of ") + optimizer.type +
                   (fell ? " fell from " + number(group.largest) + " to " + number(rate) + ", most of it within " +
                               std::to_string(group.low_steps) + " steps of one epoch, and training goes on"
                         : " rose from " + number(group.first) + " to " + number(rate));
    seen.advice =
        "a schedule that counts epochs is to be stepped once an epoch, not with each batch; else see where the rate is "
        "set";
    judge.tell(seen);
  }
}

/// Decay that leaves less of the weights with each step, whatever the loss asks for.
void judge_decay(const Judge& judge, const Moment& moment) {
  const Model& model = *moment.model;
  if (!(model.weight_decay > 0)) return;
  double decay = 0, gradient = 0, now = 0, first = 0;
  for (const ParameterState& each : model.parameters) {
    if (!each.is_matrix() || each.gradient_count == 0 || each.first_norm == 0) continue;
    const double mean = each.gradient_norm_sum / static_cast<double>(each.gradient_count);
    decay += each.norm * each.norm;
    gradient += mean * mean;
    now += each.norm * each.norm;
    first += each.first_norm * each.first_norm;
  }
  decay = model.weight_decay * std::sqrt(decay);
  gradient = std::sqrt(gradient);
  constexpr double collapsed = 0.25, nearly_as_large = 0.5;
  const double share = first > 0 ? std::sqrt(now / first) : 1;
  if (share > collapsed || decay < nearly_as_large * gradient) return;
  Observation seen;
  seen.module = model.root;
  seen.value = share;
  seen.threshold = collapsed;
  seen.tag = "Weight Norm";
  seen.message = "weight decay outweighs the gradients: of the weights' norm after the first step " + percent(share) +
                 " is left, and a step takes a decay of " + number(decay) + " (" + number(model.weight_decay) +
                 " times the weights) beside a gradient of " + number(gradient);
  seen.advice = "lower the weight decay, usual are 1e-5 to 1e-2";
  judge.see(seen);
}

void judge_reset(const Judge& judge, const Moment& moment) {
  const Model& model = *moment.model;
  constexpr int enough = 2;
  if (model.start.same < enough) return;
  Observation seen;
  seen.at_tick = true;
  seen.module = model.root;
  seen.value = model.start.same + 1;
  seen.message = "the weights of " + whose(model) + " were the same at the beginning of each of the last " +
                 std::to_string(model.start.same + 1) +
                 " epochs, although steps changed them in between: something sets them back";
  seen.advice = "see what loads or initializes the weights in each epoch; to go on from a checkpoint, load it once";
  judge.tell(seen);
}

void judge_new_optimizer(const Judge& judge, const Moment& moment) {
  Model& model = *moment.model;
  Model::Newest& newest = model.newest;
  const loupe_optimizer& optimizer = *moment.optimizer;
  constexpr uint32_t enough = 3;
  if (optimizer.id > newest.id) {
    int64_t elements = 0;
    bool has_state = std::string_view(optimizer.type) != "SGD";
    for (std::size_t i = 0; i < optimizer.group_count; ++i) {
      elements += optimizer.groups[i]->element_count;
      has_state = has_state || momentum_of(*optimizer.groups[i]).value_or(0) > 0;
    }
    // One that holds other parameters is for another stage of training.
    const bool is_like = newest.id != 0 && has_state && elements == newest.elements;
    newest.after_a_step = is_like && newest.steps == 1 ? newest.after_a_step + 1 : 0;
    newest.after_an_epoch = is_like && model.ticks == newest.at_tick + 1 ? newest.after_an_epoch + 1 : 0;
    newest.id = optimizer.id;
    newest.at_tick = model.ticks;
    newest.elements = elements;
    newest.steps = 0;
  }
  if (optimizer.id == newest.id) ++newest.steps;
  const bool in_steps = newest.after_a_step >= enough;
  if ((!in_steps && newest.after_an_epoch < enough) || model.ticks > newest.at_tick + 1) return;
  const uint32_t times = in_steps ? newest.after_a_step : newest.after_an_epoch;
  Observation seen;
  seen.module = model.root;
  seen.value = times + 1;
  seen.message = std::string("a new ") + optimizer.type + " was made for the same parameters in each of the last " +
                 std::to_string(times + 1) + (in_steps ? " steps" : " epochs") +
                 ": its averages of the gradients begin again each time";
  seen.advice = "make the optimizer once, before the loop; to change the learning rate, set it in its options";
  judge.tell(seen);
}

void RateHistory::Group::follow(double rate, uint64_t ticks) {
  constexpr double near = 0.1, next_to_nothing = 1e-4, many_times = 100, implausible = 10;
  steps = ticks == now_at ? steps + 1 : 1;
  now_at = ticks;
  if (first == 0) first = rate;
  high_steps = first > 0 && rate > many_times * first && rate > implausible ? high_steps + 1 : 0;
  if (rate >= near * std::max(rate, largest)) {
    high_at = ticks;
    is_low = false;
  } else if (!is_low && rate > 0 && rate < next_to_nothing * largest && high_at == ticks) {
    is_low = true;
    low_at = ticks;
    low_steps = steps;
  }
  // A cycle's steps are small: what counts is how far it rose from its lowest.
  if (rate < largest) lowest = std::min(lowest, rate);
  largest = std::max(largest, rate);
  returned = returned || rate > 1.1 * lowest;
}

void RateHistory::forget_streaks() {
  constexpr uint32_t in_a_row = 2;
  for (auto& [key, group] : groups) {
    if (group.zeros < in_a_row) group.zeros = 0;
  }
}

bool RateHistory::is_annealed(const loupe_optimizer* optimizer) const {
  if (optimizer == nullptr) return false;
  for (std::size_t i = 0; i < optimizer->group_count; ++i) {
    const auto found = groups.find({optimizer->id, i});
    const double rate = learning_rate_of(*optimizer->groups[i]).value_or(NAN);
    if (found == groups.end() || !(rate < 0.05 * found->second.largest)) return false;
  }
  return true;
}

std::string RateHistory::text(const loupe_optimizer* optimizer) const {
  if (optimizer == nullptr || optimizer->group_count == 0) return "";
  const double rate = learning_rate_of(*optimizer->groups[0]).value_or(NAN);
  const auto found = groups.find({optimizer->id, 0});
  if (found == groups.end() || std::isnan(rate)) return "";
  const bool fell = found->second.largest > rate;
  return "; the learning rate is " + number(rate) + (fell ? ", and was " + number(found->second.largest) : "");
}

bool RateHistory::any_returned() const {
  return std::any_of(groups.begin(), groups.end(), [](const auto& each) { return each.second.returned; });
}

}  // namespace loupe::health
