#include "health/watches.h"

#include <loupe/draft/abi/flags.h>
#include <loupe/draft/tensor_math.h>
#include <loupe/event.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "health/rules/elements.h"

namespace loupe::health {
namespace {

constexpr uint64_t start_steps = 3;  // the first steps, which are all measured

}  // namespace

Origin origin_of(Origin::Place place, const Event& event, const Measurement& measured, const Watched& watched) {
  Origin origin;
  origin.place = place;
  origin.step = event.step();
  const uint64_t last = watched.last_step.load(std::memory_order_relaxed);
  origin.unseen_steps = last != 0 && origin.step > last ? origin.step - last : 0;
  origin.module = event.raw()->module;
  origin.nan_count = measured.nan_count;
  origin.inf_count = measured.inf_count;
  origin.numel = measured.numel;
  return origin;
}

Calling::Call times_into(Speed& speed) {
  return [&speed, step = Speed::Step()](const Event& event) mutable {
    const std::string_view part = event.label();
    const double seconds = event.scalar();
    if (part == "device") step.on_device = true;
    if (part == "waiting") step.waiting = seconds;
    if (part == "forward") step.forward = seconds;
    if (part == "backward") step.backward = seconds;
    if (part == "optimizer") step.optimizer = seconds;
    if (part == "other") step.other = seconds;
    if (part == "step") speed.add(std::exchange(step, {}));
  };
}

Calling::Call passes_into(Passes& passes) {
  return [&passes](const Event& event) {
    if (event.is_loss() && event.training()) passes.take(event.scalar());
    if (std::string_view(event.label()) == "loss scale") passes.scale = event.scalar();
  };
}

void look_at_path(const Watched& watched, Model& model, const Layer& layer, const Event& event) {
  if (model.path_end.load(std::memory_order_relaxed) != &layer) return;
  if (!event.training() || !event.grad_enabled() || !event.tensor()) return;
  model.path_end.store(nullptr, std::memory_order_relaxed);
  const auto leaves = draft::leaves_of(watched.host, *event.tensor().raw());
  if (leaves.empty()) return;
  struct Weight {
    const loupe_module* module;
    std::string name;
    const ParameterState* state;
  };
  std::vector<Weight> weights;
  {
    const std::lock_guard lock(model.mutex);
    for (const ParameterState& each : model.parameters) {
      if (each.module != nullptr && each.is_matrix()) weights.push_back({each.module, each.name, &each});
    }
  }
  std::vector<const ParameterState*> path;
  for (const Weight& each : weights) {
    watched.host.lend_parameter(each.module, each.name.c_str(), false, [&](const loupe_tensor& tensor) {
      if (leaves.count(tensor.data) != 0) path.push_back(each.state);
    });
  }
  const std::lock_guard lock(model.mutex);
  model.path = std::move(path);
}

void note_device_output(const Watched& watched, Model& model, Layer& layer, const Event& event) {
  look_at_path(watched, model, layer, event);
  const std::lock_guard lock(model.mutex);
  model.is_on_device = true;
  model.begin_run(layer, event);
  model.pass.last = &layer;
  if (!event.grad_enabled()) model.passing.ran_without_grad = true;
  if (layer.is_batch_norm && event.training() && event.tensor()) model.take_batch(layer, event.tensor());
}

void note_device_gradient(Model& model) {
  const std::lock_guard lock(model.mutex);
  model.is_on_device = true;
  model.end_pass();
  model.epoch.has_backward = model.step.added_up = true;
}

void note_device_step(Model& model, ParameterState& state, const Event& event) {
  if (!event.tensor()) return;
  const std::lock_guard lock(model.mutex);
  state.follow(model.step_now);
  model.note_step(state);
  model.end_pass();
  model.is_on_device = true;
}

void take_gradient(Watched& watched, Model& model, ParameterState& state, const Event& event) {
  const Measurement& measured = event.measurement();
  const double norm = std::sqrt(measured.sum_squares);
  const std::lock_guard lock(model.mutex);
  if ((event.raw()->flags & LOUPE_EVENT_DEFERRED) != 0) {
    state.take_gradient(norm);
  } else {
    model.end_pass();
    model.epoch.has_backward = model.step.added_up = true;
    state.follow(model.step_now);
    if (++state.gradients == 1) ++model.step.sums.counts.gradients;
    state.is_unused = true;
    model.passing.take_gradient(state.gradients, norm);
    state.gradient_norm = norm;
  }
  if (is_finite(measured) || !watched.first_non_finite.meets_first()) return;
  Origin origin = origin_of(Origin::Place::gradient, event, measured, watched);
  origin.parameter = state.name;
  watched.host.lend_parameter(state.module, state.name.c_str(), false, [&](const loupe_tensor& tensor) {
    origin.steep = draft::steep_functions(watched.host, tensor);
  });
  watched.first_non_finite.note(std::move(origin));
}

void StepWatch::process(const Event& event) {
  const Measurement& measured = event.measurement();
  {
    const std::lock_guard lock(model_.mutex);
    state_.follow(model_.step_now);
    state_.norm = std::sqrt(measured.sum_squares);
    state_.is_sampled = (measured.flags & LOUPE_MEASUREMENT_SAMPLED) != 0;
    state_.is_finite = is_finite(measured);
    const double change = has_change(measured) ? std::sqrt(measured.change_sum_squares) : 0;
    if (place_ == LOUPE_PLACE_CPU) {
      model_.end_pass();
      state_.not_cleared = (event.raw()->flags & LOUPE_DRAFT_EVENT_NOT_CLEARED) != 0;
      state_.clipped_early = (event.raw()->flags & LOUPE_DRAFT_EVENT_CLIPPED_EARLY) != 0;
      state_.has_change = has_change(measured) && state_.is_finite;  // a change to NaN cannot be judged
      state_.change_norm = change;
      state_.gradients_of_step = state_.gradients;
      state_.is_reused = !std::exchange(state_.is_unused, false);
      if (state_.gradients > 0) state_.take_gradient(state_.gradient_norm);
      if (state_.has_change) state_.take_change(change, state_.steps == 0);
      model_.note_step(state_);
    } else if (has_change(measured)) {
      state_.take_change(change, !std::exchange(state_.has_device_change, true));
    }
    // Far above rounding, so the compared elements also change.
    constexpr double clearly = 1e-6;
    if (state_.is_matrix() && change > clearly * state_.norm) model_.start.changed = true;
  }
  if (!is_finite(measured) && watched_.first_non_finite.meets_first()) note_non_finite(event);
  if (place_ == LOUPE_PLACE_CPU && event.tensor()) look_at_rounding(event);
}

/// The optimizer's input may contain it: from an unmeasured backward pass, or from a later change of the gradient.
void StepWatch::note_non_finite(const Event& event) {
  bool gradient_rested = false;
  {
    const std::lock_guard lock(model_.mutex);
    gradient_rested = state_.rests;
  }
  Origin origin = origin_of(Origin::Place::parameter, event, event.measurement(), watched_);
  origin.parameter = state_.name;
  // The gradient on a device may already be the next step's.
  if (gradient_rested || place_ == LOUPE_PLACE_CPU) {
    read(watched_.host, state_, true, [&](const Elements& elements) {
      const Extent gradient = elements.extent();
      if (gradient.is_finite()) return;
      origin.place = gradient_rested ? Origin::Place::gradient : Origin::Place::changed_gradient;
      origin.nan_count = gradient.nan_count;
      origin.inf_count = gradient.inf_count;
      origin.numel = elements.count();
    });
  }
  watched_.first_non_finite.note(std::move(origin));
}

/// Counts the elements of a 16-bit parameter that a step left unchanged although they have a gradient.
void StepWatch::look_at_rounding(const Event& event) {
  if (event.tensor().raw()->dtype_bits != 16) return;
  const Elements now(event.tensor().raw());
  if (!now.readable() || !now.is_low_precision()) return;
  if (event.step() > watched_.last_step.load(std::memory_order_relaxed))
    has_last_ = false;  // some steps were not measured
  last_.resize(most_looked_at);
  std::array<bool, most_looked_at> moves{};  // elements with a gradient
  const std::size_t number = state_.steps < start_steps || state_.steps % 16 == 0 ? 1 : 0;
  if (has_last_ && number != 0) {
    read(watched_.host, state_, true, [&](const Elements& gradient) {
      if (gradient.count() != now.count()) return;
      std::size_t i = 0;
      gradient.sample(most_looked_at, [&](int64_t place) { moves[i++] = gradient.at(place) != 0; });
    });
  }
  std::size_t i = 0;
  int64_t seen = 0, unchanged = 0;
  now.sample(most_looked_at, [&](int64_t place) {
    const uint64_t bits = now.bits(place);
    if (has_last_ && moves[i]) {
      ++seen;
      unchanged += bits == last_[i] ? 1 : 0;
    }
    last_[i++] = bits;
  });
  has_last_ = true;
  const std::lock_guard lock(model_.mutex);
  state_.is_low_precision = model_.is_low_precision = true;
  state_.low_precision_seen += seen;
  state_.low_precision_unchanged += unchanged;
}

}  // namespace loupe::health
