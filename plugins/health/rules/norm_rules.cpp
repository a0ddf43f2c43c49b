// Rules about batch norms and the statistics that they keep for evaluation.

#include <algorithm>
#include <string>

#include "health/rules/rule.h"

namespace loupe::health {
namespace {

/// Whether nothing trains what it scales and shifts by: no optimizer, and nobody by hand.
bool is_frozen(const Model& model, const Layer& layer) {
  const auto found = model.modules.find(layer.module);
  if (found == model.modules.end() || found->second.parameters.empty()) return false;
  const auto& parameters = found->second.parameters;
  return std::all_of(parameters.begin(), parameters.end(), [](const ParameterState* each) {
    return each->parameter != nullptr && !each->is(LOUPE_PARAMETER_TRAINABLE) && !each->is(LOUPE_PARAMETER_OPTIMIZED) &&
           each->steps == 0 && !each->ever_changed;
  });
}

}  // namespace

void judge_small_batch_norm(const Judge& judge, const Moment& moment) {
  const Model& model = *moment.model;
  if (model.small_norm == nullptr) return;
  Observation seen;
  seen.module = model.small_norm->module;
  seen.value = static_cast<double>(model.small_norm_values);
  seen.threshold = 2;
  seen.message = "'" + model.small_norm->name + "' normalizes by the statistics of " +
                 std::to_string(model.small_norm_values) + " values a channel: its output says little of them";
  seen.advice = "use larger batches, leave out the last incomplete one, or use GroupNorm or LayerNorm";
  judge.tell(seen);
}

void judge_running_momentum(const Judge& judge, const Moment& moment) {
  constexpr double most = 0.5;
  for (const Layer& layer : moment.model->layers) {
    if (layer.running_momentum <= most || layer.trained_at == 0) continue;
    Observation seen;
    seen.at_tick = true;
    seen.module = layer.module;
    seen.value = layer.running_momentum;
    seen.threshold = most;
    seen.message =
        "'" + layer.name + "' has a momentum of " + number(layer.running_momentum) +
        ", the share of the newest batch in its running statistics: in evaluation it normalizes by those of " +
        "the last batch or two";
    seen.advice = "use a momentum of about 0.1; what other libraries call 0.9 or 0.99 is 0.1 or 0.01 here";
    judge.tell(seen);
  }
}

void judge_frozen_norm(const Judge& judge, const Moment& moment) {
  Model& model = *moment.model;
  constexpr uint32_t epochs_enough = 2;
  const Layer* first = nullptr;
  int more = -1;
  const bool any_trains = std::any_of(model.parameters.begin(), model.parameters.end(),
                                      [](const ParameterState& each) { return each.steps_with_gradient > 0; });
  for (Layer& layer : model.layers) {
    const bool moves = layer.running_momentum > 0 && any_trains && layer.trained_at != 0 &&
                       layer.trained_at >= model.trained_before_tick;
    layer.frozen_epochs = moves && is_frozen(model, layer) ? layer.frozen_epochs + 1 : 0;
    if (layer.frozen_epochs < epochs_enough) continue;
    if (first == nullptr) first = &layer;
    ++more;
  }
  model.trained_before_tick = model.step_now;
  if (first == nullptr) return;
  Observation seen;
  seen.severity = LOUPE_SEVERITY_INFO;  // it may be meant
  seen.at_tick = true;
  seen.module = first->module;
  seen.message =
      "'" + first->name + "'" +
      (more > 0 ? " and " + std::to_string(more) + " more batch norm" + (more == 1 ? "" : "s") + " are" : " is") +
      " frozen, but in training mode: the running mean and variance still move with each batch, and what the "
      "frozen part gives changes";
  seen.advice = "call eval() on the frozen part, after each model->train()";
  judge.tell(seen);
}

}  // namespace loupe::health
