#include "health/model.h"

#include <algorithm>

namespace loupe::health {

void Model::begin_run(Layer& layer, const Event& event) {
  if (!pass.open || pass.first == &layer) {
    end_pass();
    pass.open = true;
    pass.first = first_layer = &layer;
  }
  if (layer.first_run == 0) layer.first_run = ++runs;
  ++(event.training() ? layer.training : layer.evaluation);
  (event.training() ? pass.training : pass.evaluation) = true;
  pass.with_grad = pass.with_grad || event.grad_enabled();
  if ((event.raw()->flags & LOUPE_EVENT_DROPS) != 0) pass.dropout = &layer;
}

void Model::end_pass() {
  flow.end_pass();
  if (!pass.open) return;
  ++passes;
  training_passes += pass.training && !pass.evaluation ? 1 : 0;
  passes_without_grad += pass.with_grad ? 0 : 1;
  if (!pass.training && pass.dropout != nullptr) dropped_in_eval = pass.dropout;
  if (pass.last != nullptr) last_layer = pass.last;
  pass = {};
}

bool Model::depends_on_mode() const {
  return std::any_of(layers.begin(), layers.end(), [](const Layer& layer) {
    return layer.role == Role::dropout || layer.type.compare(0, 9, "BatchNorm") == 0;
  });
}

void Model::next_step() {
  for (Layer& layer : layers) layer.next_step();
  for (ParameterState& parameter : parameters) parameter.next_step();
  passes = training_passes = passes_without_grad = 0;
  dropped_in_eval = nullptr;
  last_input_hash = has_input_hash ? input_hash : last_input_hash;
  has_input_hash = false;
  got_distribution = added_up = false;
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
