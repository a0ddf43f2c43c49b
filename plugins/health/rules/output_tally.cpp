#include "health/rules/output_tally.h"

#include <loupe/draft/abi/flags.h>
#include <algorithm>
#include <cmath>
#include <utility>

#include "health/rules/model.h"

namespace loupe::health {
namespace {

constexpr uint32_t never = UINT32_MAX;

/// What begins and ends the pass is always processed, and so is what does not run once in each.
bool may_be_added_up(const Model& model, const Layer& layer) {
  const bool is_within = &layer != model.first_layer && &layer != model.last_layer && model.first_layer != nullptr;
  return layer.module != nullptr && is_within && layer.rests == 0 && !layer.wavers && !layer.is_batch_norm &&
         layer.neighbours.runs > 0 && layer.neighbours.runs == model.first_layer->neighbours.runs;
}

const Layer* layer_of(const Model& model, const loupe_source* outputs) {
  const auto found = std::find_if(model.layers.begin(), model.layers.end(), [&](const Layer& each) {
    return each.module != nullptr && each.outputs.raw() == outputs;
  });
  return found != model.layers.end() ? &*found : nullptr;
}

}  // namespace

void OutputTally::add_up(Layer& layer, bool adds_up, const internal::Tally& tally, Changes& changes) {
  if (std::exchange(layer.is_added_up, adds_up) == adds_up) return;
  changes.uses.emplace_back(layer.outputs, adds_up ? tally : internal::Tally());
}

void OutputTally::begin(Model& model, Changes& changes) {
  if (!tally_ || model.is_on_device) return;
  in_use_ = true;
  steps_ = next_change_ = 0;
  for (Layer& layer : model.layers) {
    layer.may_be_added_up = may_be_added_up(model, layer);
    // The input of such a layer says nothing that its output does not, and would be held for nobody.
    layer.lacks_input = layer.may_be_added_up && layer.only_passes_on;
    if (layer.lacks_input) changes.rests.emplace_back(layer.outputs, LOUPE_DRAFT_REST_TENSORS);
  }
  end_step(model, changes);
}

void OutputTally::end_step(Model& model, Changes& changes) {
  if (!in_use_ || ++steps_ < next_change_) return;
  bool any_is_due = false;
  uint32_t shortest = 0;
  for (Layer& layer : model.layers) {
    if (!layer.may_be_added_up) continue;
    const uint32_t interval = layer.look_interval();
    const bool is_due = interval != 0 && steps_ % interval == 0;
    add_up(layer, !is_due, tally_, changes);
    any_is_due = any_is_due || is_due;
    if (interval != 0 && (shortest == 0 || interval < shortest)) shortest = interval;
  }
  // The layers' states lie far apart, and are not gone through in each step.
  const uint32_t next_due = shortest != 0 ? (steps_ / shortest + 1) * shortest : never;
  next_change_ = any_is_due ? steps_ + 1 : next_due;
}

void OutputTally::end(Model& model, Changes& changes) {
  if (!std::exchange(in_use_, false)) return;
  for (Layer& layer : model.layers) {
    add_up(layer, false, tally_, changes);
    if (std::exchange(layer.lacks_input, false)) changes.rests.emplace_back(layer.outputs, 0);
  }
}

void OutputTally::take(Model& model) const {
  if (!in_use_) return;
  const internal::Tally::Sums sums = tally_.take();
  if (sums.events == 0) return;
  model.training_runs += sums.events;
  Model::Pass& pass = model.pass;
  if (!pass.open) return;
  pass.training = pass.with_grad = true;
  // What ends a pass is not added up: nobody is looked for where it has run.
  if (pass.last == model.last_layer) return;
  const Layer* last = layer_of(model, sums.last);
  if (last == nullptr || (pass.last != nullptr && pass.last->first_run > last->first_run)) return;
  pass.last = last;
  pass.last_norm = std::sqrt(sums.last_sum_squares);
}

OutputTally OutputTally::emptied() const {
  tally_.take();
  return OutputTally(tally_);
}

}  // namespace loupe::health
