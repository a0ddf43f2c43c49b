// Rules about the optimizer: its rates, and whose parameters it holds.

#include <algorithm>
#include <cmath>

#include "health/judge.h"

namespace loupe::health {
namespace {

constexpr uint32_t steps_enough = 2;

void tell_unheld(const Judge& judge, const ParameterState& state) {
  Sight sight;
  sight.rule = "unchanged_parameter";
  sight.module = state.module;
  sight.parameter = state.name;
  sight.message = shown(state) + " gets gradients, but no optimizer holds it, so it never changes";
  sight.advice =
      "give it to the optimizer, attach the optimizer that holds it (inspector.attach_optimizer), or freeze it with "
      "requires_grad_(false)";
  judge.tell(sight);
}

/// Parameters that get gradients in the steps of their model's optimizers, and that none of those holds.
void judge_unheld(const Judge& judge, Model& model) {
  for (ParameterState& each : model.parameters) {
    const bool unheld = each.is(LOUPE_PARAMETER_TRAINABLE) && !each.is(LOUPE_PARAMETER_OPTIMIZED) &&
                        each.is(LOUPE_PARAMETER_GRADIENT) && (each.gradients > 0 || model.is_on_device);
    each.unoptimized_steps = unheld ? each.unoptimized_steps + 1 : 0;
    if (each.unoptimized_steps == steps_enough) tell_unheld(judge, each);
  }
}

/// An optimizer that was attached for the model, and holds none of its parameters: copies of them, or another model's.
bool judge_copies(const Judge& judge, const Model& model, const loupe_optimizer& optimizer) {
  uint64_t tensors = 0, unknown = 0;
  for (std::size_t i = 0; i < optimizer.group_count; ++i) {
    if (!LOUPE_REACHES(*optimizer.groups[i], unknown_tensor_count)) return false;
    tensors += optimizer.groups[i]->tensor_count;
    unknown += optimizer.groups[i]->unknown_tensor_count;
  }
  const bool any_held = std::any_of(model.parameters.begin(), model.parameters.end(), [](const auto& each) {
    return each.is(LOUPE_PARAMETER_OPTIMIZED) || !each.is(LOUPE_PARAMETER_TRAINABLE);
  });
  const bool any_gradient = std::any_of(model.parameters.begin(), model.parameters.end(),
                                        [](const auto& each) { return each.is(LOUPE_PARAMETER_GRADIENT); });
  if (tensors == 0 || any_held || (unknown < tensors && !any_gradient)) return false;
  Sight sight;
  sight.rule = "no_effect";
  // One that was attached beside the wrong model trains another one all the same.
  sight.severity = unknown < tensors ? LOUPE_SEVERITY_WARNING : LOUPE_SEVERITY_ERROR;
  sight.module = model.root;
  sight.value = 0;
  sight.message = std::string("the step of ") + optimizer.type + " changed nothing in " + whose(model) +
                  ": all of the " + std::to_string(tensors) + " parameters that it holds are " +
                  (unknown == 0 ? "another model's" : "others than the model's");
  sight.advice = unknown < tensors
                     ? "make the optimizer of this model's own parameters, or attach the one that holds them"
                     : "make the optimizer of model->parameters() themselves, not of copies of them";
  judge.tell(sight);
  return true;
}

bool judge_stale(const Judge& judge, const Model& model, const loupe_optimizer& optimizer) {
  uint64_t unknown = 0;
  int64_t unknown_elements = 0, uncovered_elements = 0;
  for (std::size_t i = 0; i < optimizer.group_count; ++i) {
    if (!LOUPE_REACHES(*optimizer.groups[i], unknown_element_count)) return false;
    unknown += optimizer.groups[i]->unknown_tensor_count;
    unknown_elements += optimizer.groups[i]->unknown_element_count;
  }
  if (unknown == 0) return false;
  const ParameterState* first = nullptr;
  std::size_t uncovered = 0;
  for (const ParameterState& each : model.parameters) {
    if (!each.is(LOUPE_PARAMETER_TRAINABLE) || each.is(LOUPE_PARAMETER_OPTIMIZED)) continue;
    ++uncovered;
    uncovered_elements += each.parameter->numel;
    if (first == nullptr) first = &each;
  }
  // Another model's parameters, which is not attached, need not have to do with what is missing here.
  if (uncovered == 0 || 2 * unknown_elements < uncovered_elements) return false;
  Sight sight;
  sight.rule = "stale_optimizer";
  sight.severity = LOUPE_SEVERITY_ERROR;
  sight.module = first->module;
  sight.message = std::string("the optimizer ") + optimizer.type + " holds " + std::to_string(unknown) +
                  " parameters that the model does not have, and does not hold " + std::to_string(uncovered) +
                  " that it has, such as " + shown(*first);
  sight.advice = "make the optimizer anew after a layer is replaced or the model is copied";
  judge.tell(sight);
  return true;
}

}  // namespace

void judge_standing_unheld(const Judge& judge, const Model& model) {
  for (const ParameterState& each : model.parameters) {
    const bool is_unheld = each.is(LOUPE_PARAMETER_TRAINABLE) && !each.is(LOUPE_PARAMETER_OPTIMIZED);
    if (is_unheld && each.unoptimized_steps >= steps_enough) tell_unheld(judge, each);
  }
}

void RateHistory::Group::follow(double rate) {
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
    if (found == groups.end() || !(optimizer->groups[i]->learning_rate < 0.05 * found->second.largest)) return false;
  }
  return true;
}

bool RateHistory::any_returned() const {
  return std::any_of(groups.begin(), groups.end(), [](const auto& each) { return each.second.returned; });
}

void judge_optimizer(const Judge& judge, Model& model, const loupe_optimizer& optimizer, RateHistory& history,
                     double epochs_to_come) {
  model.had_no_rate = model.had_no_rate || !has_rate(&optimizer);
  for (std::size_t i = 0; i < optimizer.group_count; ++i) {
    RateHistory::Group& group = history.groups[{optimizer.id, i}];
    const double rate = optimizer.groups[i]->learning_rate;
    group.follow(rate);
    if (rate != 0) {
      group.zeros = 0;
      if (rate > 0) group.last_nonzero = rate;
      continue;
    }
    // A rate that is warmed up may begin at 0, and one that is annealed may end there.
    const bool annealed = group.largest > 0 && group.last_nonzero < 0.05 * group.largest;
    const bool may_be_meant = annealed && (epochs_to_come < 1 || group.returned);
    const uint64_t patience = may_be_meant ? std::max<uint64_t>(10, model.steps / 10) : 2;
    if (++group.zeros < patience) continue;
    Sight sight;
    sight.rule = "zero_learning_rate";
    sight.module = model.root;
    if (optimizer.group_count > 1) sight.parameter = "group " + std::to_string(i);
    sight.value = 0;
    sight.message =
        std::string("the learning rate of ") + optimizer.type +
        (optimizer.group_count > 1 ? ", group " + std::to_string(i) + "," : "") +
        " is 0, so that its steps change nothing" +
        (annealed && epochs_to_come >= 1 ? ", and the loop still has " + number(epochs_to_come) + " more epoch" +
                                               (epochs_to_come == 1 ? "" : "s") + " after this one"
                                         : "");
    sight.advice = "see where the rate is set; to freeze parameters, use requires_grad_(false)";
    judge.tell(sight);
  }
  if (!judge_copies(judge, model, optimizer) && !judge_stale(judge, model, optimizer) && !model.step_is_plain)
    judge_unheld(judge, model);
  const bool any_trainable = std::any_of(model.parameters.begin(), model.parameters.end(),
                                         [](const auto& each) { return each.is(LOUPE_PARAMETER_TRAINABLE); });
  if (model.parameters.empty() || any_trainable) return;
  Sight sight;
  sight.rule = "nothing_trainable";
  sight.severity = LOUPE_SEVERITY_ERROR;
  sight.module = model.root;
  sight.message = "none of the " + std::to_string(model.parameters.size()) + " parameters of " + whose(model) +
                  " requires a gradient, though an optimizer steps";
  sight.advice = "call requires_grad_(true) for what is to be trained";
  judge.tell(sight);
}

}  // namespace loupe::health
