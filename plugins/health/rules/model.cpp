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
  if (event.training()) {
    layer.trained_at = step_now;
  } else {
    (event.grad_enabled() ? layer.learns_in_evaluation : layer.was_evaluated) = true;
  }
  ++(event.training() ? step.training_runs : step.evaluation_runs);
  (event.training() ? pass.training : pass.evaluation) = true;
  pass.with_grad = pass.with_grad || event.grad_enabled();
  if ((event.raw()->flags & LOUPE_DRAFT_EVENT_DROPS) != 0) pass.dropout = &layer;
}

void Model::end_pass() {
  flow.end_pass();
  if (!pass.open) return;
  output_tally.take(*this);
  ++step.passes;
  step.training_passes += pass.training && !pass.evaluation ? 1 : 0;
  step.passes_without_grad += pass.with_grad ? 0 : 1;
  if (!pass.training && pass.dropout != nullptr) step.dropped_in_eval = pass.dropout;
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
  return std::ranges::any_of(layers, [](const Layer& layer) { return layer.role == Role::dropout; });
}

bool Model::has_batch_norm() const {
  return std::ranges::any_of(layers, [](const Layer& layer) { return layer.is_batch_norm; });
}

void Model::note_step(ParameterState& state) {
  if (std::exchange(state.stepped, true)) return;
  ++state.steps;
  state.steps_with_gradient += state.is(LOUPE_DRAFT_PARAMETER_GRADIENT) ? 1 : 0;
  step.sums.add_step(state);
}

void Model::take_batch(const Layer& layer, const TensorView& output) {
  constexpr int64_t few = 2;
  if (output.dim() < 2 || output.size(1) == 0) return;
  const int64_t values = output.numel() / output.size(1);
  if (values > few || (step.small_norm != nullptr && (step.small_norm != &layer || values >= step.small_norm_values)))
    return;
  step.small_norm = &layer;
  step.small_norm_values = values;
}

bool Model::may_be_plain() const {
  const StepSums::Part& part = step.sums.deciding();
  const bool has_effect = part.changed > 0 || part.with_gradient == 0;
  return has_effect && !step.sums.any_not_cleared && !is_on_device && !is_low_precision && tallies.in_use() &&
         tallies.is_complete(step.sums);
}

void Model::take_tallies() {
  output_tally.take(*this);
  if (!tallies.take(step.sums)) return;
  end_pass();
  epoch.has_backward = step.added_up = true;
}

/// If everything that is added up came, the step was as usual: one gradient each, and one step. The norms are those of
/// the last full measurement, or 0 if the sums show that none is above 0.
void Model::follow() {
  const bool is_known = tallies.in_use() && tallies.is_complete(step.sums);
  for (ParameterState& each : parameters) {
    each.follow(step_now);
    if (!is_known || !each.is_added_up) continue;
    const StepSums::Part& part = each.is_matrix() ? step.sums.weights : step.sums.others;
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
  const auto found = std::ranges::find_if(parameters, [&](const ParameterState& each) {
    return each.parameter != nullptr && each.gradient_source.raw() == gradients;
  });
  return found != parameters.end() ? &*found : nullptr;
}

void Model::next_step() {
  ++step_now;
  last_gradient_squares = step.sums.weights.gradient_squares;
  if (step.input.is_known) last_input = step.input;
  constexpr double newest = 1.0 / 16;
  const double square = step.input.square;
  input_jump = usual_input_square > 0 && square > 0 ? std::sqrt(square / usual_input_square) : 1;
  if (std::isfinite(square))
    usual_input_square = usual_input_square > 0 ? usual_input_square + newest * (square - usual_input_square) : square;
  passing.next_step();
  step = {};
}

void Model::next_window() {
  for (Layer& layer : layers) layer.next_window();
  for (ParameterState& parameter : parameters) parameter.next_window();
  window = {};
  passing.next_window();
}

void Model::next_epoch() {
  ++ticks;
  shared_rows.end_epoch(ticks);
  std::swap(inputs_before, epoch.inputs);
  epoch = {};
}

}  // namespace loupe::health
