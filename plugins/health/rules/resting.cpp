#include "health/rules/resting.h"

#include <loupe/draft/abi/flags.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "health/rules/elements.h"
#include "health/rules/model.h"

namespace loupe::health {
namespace {

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

/// Adds the gradients of one tally, and the steps of the same parameters.
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

/// Lets biases rest in a module whose weight shows the same gradient.
void rest_biases(const Model::Parts& parts, Changes& changes) {
  const auto is_shown = [](const ParameterState* each) { return each->parameter != nullptr && each->stepped; };
  const bool has_weight =
      std::ranges::any_of(parts.parameters, [&](const auto* each) { return is_shown(each) && each->is_matrix(); });
  for (ParameterState* each : parts.parameters) {
    each->rests = has_weight && is_shown(each) && !each->is_matrix();
    if (each->rests) rest_gradient(*each, LOUPE_REST_EVENTS, changes);
  }
}

constexpr uint32_t never = UINT32_MAX;

/// False for the first and the last layer of a pass, and for a layer that does not run exactly once in each pass; these
/// are always processed.
bool may_be_added_up(const Model& model, const Layer& layer) {
  const bool is_within = &layer != model.first_layer && &layer != model.last_layer && model.first_layer != nullptr;
  return layer.module != nullptr && is_within && layer.rests == 0 && !layer.wavers && !layer.is_batch_norm &&
         layer.neighbours.runs > 0 && layer.neighbours.runs == model.first_layer->neighbours.runs;
}

const Layer* layer_of(const Model& model, const loupe_source* outputs) {
  const auto found = std::ranges::find_if(
      model.layers, [&](const Layer& each) { return each.module != nullptr && each.outputs.raw() == outputs; });
  return found != model.layers.end() ? &*found : nullptr;
}

// Lengths in steps. A stable model is measured less often.
constexpr uint32_t shortest_rest = 8, longest_rest = 22;
constexpr uint32_t looks_enough = 8, times_longer = 4;

}  // namespace

void Flow::take(Layer& layer, const Event& event) {
  const Elements out(event.tensor().raw());
  Layer* from = nullptr;
  if (last_ != nullptr && event.input_count() > 0) {
    const loupe_tensor* input = event.input(0).raw();
    const Elements in(input);
    if (in.readable() && input->data == data_ && in.count() == count_) {
      // An in-place rectifier has changed its input, except for values above 0.
      const bool in_place = event.tensor().raw()->data == data_ && layer.role == Role::rectifier;
      bool unchanged = true;
      std::size_t i = 0;
      in.sample(most_compared, [&](int64_t place) {
        const double before = some_[i++], now = in.at(place);
        unchanged = unchanged && (same(now, before) || (in_place && now == 0 && before < 0));
      });
      if (unchanged) from = last_;
    }
  }
  Layer::Neighbours& now = layer.neighbours;
  now.steady = now.steady && (now.runs == 0 || now.from == from);
  now.has_one_input = now.has_one_input && event.input_count() == 1;
  now.from = from;
  ++now.runs;
  if (from != nullptr) {
    Layer::Neighbours& before = from->neighbours;
    before.steady = before.steady && (before.taken == 0 || before.to == &layer);
    before.to = &layer;
    ++before.taken;
  }
  last_ = nullptr;
  if (!out.readable()) return;
  last_ = &layer;
  data_ = event.tensor().raw()->data;
  count_ = out.count();
  // Reading such an input costs less than measuring the output.
  constexpr int64_t much = 4;
  now.has_small_input =
      event.input_count() > 0 && event.input(0).numel() * much <= count_ && Elements(event.input(0).raw()).is_quick();
  std::size_t i = 0;
  out.sample(most_compared, [&](int64_t place) { some_[i++] = out.at(place); });
}

/// A layer whose neighbours vary never rests: an unmeasured step may have other neighbours.
bool Flow::settle(Layer& layer) {
  const Layer::Neighbours& now = layer.neighbours;
  if (now.runs == 0) return true;
  const bool has_changed = layer.has_usual && (now.from != layer.usual_from || now.to != layer.usual_to);
  layer.wavers = layer.wavers || !now.steady || has_changed;
  layer.usual_from = now.from;
  layer.usual_to = now.to;
  layer.has_usual = true;
  return now.steady && !has_changed;
}

uint32_t Flow::rest_of(const Model& model, const Layer& layer) {
  const Layer::Neighbours& now = layer.neighbours;
  if (now.runs == 0 || layer.wavers || !now.has_one_input || &layer == model.last_layer) return 0;
  if (now.was_constant && !layer.is_constant()) return 0;  // constant_output has not decided yet
  const bool is_first = &layer == model.first_layer;
  // An activation after several layers does not show which of them made a NaN.
  const bool is_seen = now.taken == now.runs && !now.to->wavers && now.to->shows_non_finite;
  const bool is_between = !is_first && now.from != nullptr;
  if (is_between && (layer.only_selects || (layer.is_maker() && is_seen))) return LOUPE_REST_EVENTS;
  return is_first && layer.is_maker() && is_seen && now.has_small_input ? LOUPE_DRAFT_REST_MEASURES : 0;
}

void Tallies::begin(Model& model, Changes& changes) {
  const StepSums::Counts& counts = model.step.sums.counts;
  const bool each_once = counts.gradients > 0 && counts.gradients == counts.stepped && counts.both == counts.stepped &&
                         std::ranges::all_of(model.parameters, [](const auto& each) {
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
    // Such a layer's input shows nothing more than its output, and would be kept unused.
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
  // Visiting all layers in each step would be slow, because their states are far apart in memory.
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
  model.step.training_runs += sums.events;
  Model::Pass& pass = model.pass;
  if (!pass.open) return;
  pass.training = pass.with_grad = true;
  // The last layer is not added up. Once it has run, the pass is complete.
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

/// The number of steps varies, to also meet events that occur at every fourth step, for example.
uint32_t Resting::next_rest() {
  random_ = random_ * 1664525 + 1013904223;
  const uint32_t steps = shortest_rest + (random_ >> 16) % (longest_rest - shortest_rest + 1);
  return steady_looks_ < looks_enough ? steps : times_longer * steps;
}

void Resting::end_step(Model& model, bool may_rest, Changes& changes) {
  if (looking_) {
    const bool has_looked = ++looks_ >= fewest_looks_in_window;
    if (has_looked && may_rest) turn(model, changes);
  } else if (!may_rest || steps_left_ <= 1) {
    turn(model, changes);
  } else {
    --steps_left_;
    model.output_tally.end_step(model, changes);
  }
}

void Resting::turn(Model& model, Changes& changes) {
  looking_ = !looking_;
  model.flow.end_pass();
  if (!looking_) {
    bool is_as_before = true;
    for (Layer& layer : model.layers) is_as_before = Flow::settle(layer) && is_as_before;
    steady_looks_ = is_as_before ? steady_looks_ + 1 : 0;
    steps_left_ = next_rest();
    model.tallies.begin(model, changes);
  } else {
    model.tallies.end(model, changes);
    model.output_tally.end(model, changes);
  }
  for (Layer& layer : model.layers) {
    const uint32_t before = layer.rests;
    layer.rests = 0;
    if (looking_) {
      layer.neighbours = {};
    } else {
      layer.rests = Flow::rest_of(model, layer);
    }
    if (layer.module == nullptr || layer.rests == before) continue;
    changes.rests.emplace_back(layer.outputs, layer.rests);
    // A first layer's events on a device do not rest: its input is not read there.
    if (((layer.rests | before) & LOUPE_REST_EVENTS) == 0) continue;
    changes.rests.emplace_back(layer.device_outputs, layer.rests);
    changes.rests.emplace_back(layer.device_looks, layer.rests);
  }
  if (!looking_) model.output_tally.begin(model, changes);
}

}  // namespace loupe::health
