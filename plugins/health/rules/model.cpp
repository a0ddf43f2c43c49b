#include "health/rules/model.h"

#include <loupe/draft/abi/flags.h>

#include <algorithm>
#include <utility>

namespace loupe::health {

void Model::begin_run(Layer& layer, const Event& event) {
  if (!pass.open || pass.first == &layer) {
    end_pass();
    pass.open = true;
    pass.first = first_layer = &layer;
  }
  if (layer.first_run == 0) layer.first_run = ++runs;
  if (event.training()) layer.trained_at = step_now;
  ++(event.training() ? training_runs : evaluation_runs);
  (event.training() ? pass.training : pass.evaluation) = true;
  pass.with_grad = pass.with_grad || event.grad_enabled();
  if ((event.raw()->flags & LOUPE_DRAFT_EVENT_DROPS) != 0) pass.dropout = &layer;
}

void Model::end_pass() {
  flow.end_pass();
  if (!pass.open) return;
  output_tally.take(*this);
  ++passes;
  training_passes += pass.training && !pass.evaluation ? 1 : 0;
  passes_without_grad += pass.with_grad ? 0 : 1;
  if (!pass.training && pass.dropout != nullptr) dropped_in_eval = pass.dropout;
  if (pass.last != nullptr) last_layer = pass.last;
  pass = {};
}

void Model::ask_for_path() {
  const Layer* last = nullptr;
  for (const ParameterState& each : parameters) {
    const bool is_seen = each.runs != nullptr && each.runs->first_run > 0 && each.is_matrix();
    if (!is_seen || each.steps_with_gradient == 0) continue;
    if (last == nullptr || each.runs->first_run > last->first_run) last = each.runs;
  }
  path_end = last;
}

bool Model::drops() const {
  return std::any_of(layers.begin(), layers.end(), [](const Layer& layer) { return layer.role == Role::dropout; });
}

bool Model::has_batch_norm() const {
  return std::any_of(layers.begin(), layers.end(), [](const Layer& layer) { return layer.is_batch_norm; });
}

void Model::note_step(ParameterState& state) {
  if (std::exchange(state.stepped, true)) return;
  ++state.steps;
  state.steps_with_gradient += state.is(LOUPE_DRAFT_PARAMETER_GRADIENT) ? 1 : 0;
  sums.add_step(state);
}

void Model::take_batch(const Layer& layer, const TensorView& output) {
  constexpr int64_t few = 2;
  if (output.dim() < 2 || output.size(1) == 0) return;
  const int64_t values = output.numel() / output.size(1);
  if (values > few || (small_norm != nullptr && (small_norm != &layer || values >= small_norm_values))) return;
  small_norm = &layer;
  small_norm_values = values;
}

bool Model::is_plain(uint64_t optimizer) {
  const StepSums::Part& part = sums.deciding();
  const bool has_effect = part.changed > 0 || part.with_gradient == 0;
  const bool may_be =
      has_effect && !sums.any_not_cleared && !resting.is_looking() && !is_on_device && !is_low_precision;
  if (tallies.in_use()) return may_be && tallies.is_complete(sums);
  constexpr uint32_t steps_enough = 2;  // which rules need that count steps in a row
  const auto known =
      std::find_if(usual.begin(), usual.end(), [&](const Usual& each) { return each.optimizer == optimizer; });
  Usual& before = known != usual.end() ? *known : usual.emplace_back();
  const bool is_usual = before.times >= steps_enough && before.counts == sums.counts;
  before.times = before.counts == sums.counts ? before.times + 1 : 1;
  before.counts = sums.counts;
  before.optimizer = optimizer;
  return is_usual && may_be;
}

void Model::take_tallies() {
  output_tally.take(*this);
  if (!tallies.take(sums)) return;
  end_pass();
  has_backward = added_up = true;
}

/// What is added up was as usual, if all of it came: one gradient each, and one step. The norms are those of the last
/// look, except that none is above 0 where the sums say so.
void Model::follow() {
  const bool is_known = tallies.in_use() && tallies.is_complete(sums);
  for (ParameterState& each : parameters) {
    each.follow(step_now);
    if (!is_known || !each.is_added_up) continue;
    const StepSums::Part& part = each.is_matrix() ? sums.weights : sums.others;
    if (each.gradients == 0 && (!each.rests || each.is(LOUPE_DRAFT_PARAMETER_GRADIENT))) {
      each.gradients = 1;
      if (part.with_gradient == 0) each.gradient_norm = 0;
    }
    if (each.stepped) continue;
    each.stepped = each.has_change = true;
    if (part.changed == 0) each.change_norm = 0;
  }
}

const ParameterState* Model::parameter_of(const loupe_source* gradients) const {
  const auto found = std::find_if(parameters.begin(), parameters.end(), [&](const ParameterState& each) {
    return each.parameter != nullptr && each.gradient_source.raw() == gradients;
  });
  return found != parameters.end() ? &*found : nullptr;
}

void Model::next_step() {
  ++step_now;
  last_gradient_squares = sums.weights.gradient_squares;
  sums = {};
  small_norm = nullptr;
  training_runs = evaluation_runs = 0;
  passes = training_passes = passes_without_grad = 0;
  dropped_in_eval = nullptr;
  if (input.is_known) last_input = std::exchange(input, {});
  loss_fault = {};
  has_equal_rows = has_different_targets = false;
  input_rows = targets = 0;
  lone_softmax = nullptr;
  added_up = false;
}

void Model::next_window() {
  for (Layer& layer : layers) layer.next_window();
  for (ParameterState& parameter : parameters) parameter.next_window();
  steps_in_window = 0;
  had_no_rate = false;
  input_sum = input_sum_squares = 0;
  input_count = 0;
}

}  // namespace loupe::health
