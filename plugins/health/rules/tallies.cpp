#include "health/rules/tallies.h"

#include <algorithm>
#include <utility>

#include "health/rules/model.h"

namespace loupe::health {
namespace {

/// Adds one tally's gradients, and those parameters' steps.
uint64_t add(const Tallies::Pair& pair, StepSums& sums, StepSums::Part& part) {
  const internal::Tally::Sums gradients = pair.gradients.take(), steps = pair.steps.take();
  sums.counts.gradients += static_cast<uint32_t>(gradients.events);
  part.with_gradient += static_cast<uint32_t>(gradients.nonzero_events);
  part.gradient_squares += gradients.sum_squares;
  if (gradients.events > 0) part.take_largest(gradients.largest, gradients.largest_sum_squares);
  sums.counts.stepped += static_cast<uint32_t>(steps.events);
  part.changed += static_cast<uint32_t>(steps.changed_events);
  return gradients.events;
}

void rest_gradient(const ParameterState& state, uint32_t what, Changes& changes) {
  changes.rests.emplace_back(state.gradient_source, what);
  changes.rests.emplace_back(state.device_gradient_look, what);
}

/// Of a module whose weight shows what goes back through it.
void rest_biases(const Model::Parts& parts, Changes& changes) {
  const auto is_shown = [](const ParameterState* each) { return each->parameter != nullptr && each->stepped; };
  const bool has_weight = std::any_of(parts.parameters.begin(), parts.parameters.end(),
                                      [&](const auto* each) { return is_shown(each) && each->is_matrix(); });
  for (ParameterState* each : parts.parameters) {
    each->rests = has_weight && is_shown(each) && !each->is_matrix();
    if (each->rests) rest_gradient(*each, LOUPE_REST_EVENTS, changes);
  }
}

}  // namespace

void Tallies::begin(Model& model, Changes& changes) {
  const StepSums::Counts& counts = model.sums.counts;
  const bool each_once = counts.gradients > 0 && counts.gradients == counts.stepped && counts.both == counts.stepped &&
                         std::all_of(model.parameters.begin(), model.parameters.end(), [](const auto& each) {
                           return !each.stepped || (each.gradients == 1 && each.has_change);
                         });
  const bool have_some = weights_.gradients && weights_.steps && others_.gradients && others_.steps;
  if (!have_some || !each_once || model.is_on_device || model.is_low_precision) return;
  in_use_ = true;
  usual_ = counts;
  for (auto& [module, parts] : model.modules) rest_biases(parts, changes);
  for (ParameterState& each : model.parameters) {
    if (each.parameter == nullptr || !each.stepped) continue;
    const Pair& pair = each.is_matrix() ? weights_ : others_;
    each.is_added_up = true;
    if (each.rests) {
      --usual_.gradients;
    } else {
      changes.uses.emplace_back(each.gradient_source, pair.gradients);
    }
    changes.uses.emplace_back(each.step_source, pair.steps);
  }
}

void Tallies::end(Model& model, Changes& changes) {
  if (!std::exchange(in_use_, false)) return;
  for (ParameterState& each : model.parameters) {
    if (!std::exchange(each.is_added_up, false)) continue;
    if (std::exchange(each.rests, false)) {
      rest_gradient(each, 0, changes);
    } else {
      changes.uses.emplace_back(each.gradient_source, internal::Tally());
    }
    changes.uses.emplace_back(each.step_source, internal::Tally());
  }
}

Tallies Tallies::emptied() const {
  for (const internal::Tally* each : {&weights_.gradients, &weights_.steps, &others_.gradients, &others_.steps})
    each->take();
  return {weights_, others_};
}

bool Tallies::take(StepSums& sums) const {
  if (!in_use_) return false;
  const uint64_t of_weights = add(weights_, sums, sums.weights), of_others = add(others_, sums, sums.others);
  return of_weights + of_others > 0;
}

}  // namespace loupe::health
