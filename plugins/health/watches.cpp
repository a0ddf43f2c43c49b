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

constexpr uint64_t start_steps = 3;  // each of which is looked at

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

void SpeedWatch::process(const Event& event) {
  const std::string_view part = event.label();
  const double seconds = event.scalar();
  if (part == "device") step_.on_device = true;
  if (part == "waiting") step_.waiting = seconds;
  if (part == "forward") step_.forward = seconds;
  if (part == "backward") step_.backward = seconds;
  if (part == "optimizer") step_.optimizer = seconds;
  if (part == "other") step_.other = seconds;
  if (part == "step") speed_.add(std::exchange(step_, {}));
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

void DeviceOutputLook::process(const Event& event) {
  look_at_path(watched_, model_, layer_, event);
  const std::lock_guard lock(model_.mutex);
  model_.is_on_device = true;
  model_.begin_run(layer_, event);
  model_.pass.last = &layer_;
  if (layer_.is_batch_norm && event.training() && event.tensor()) model_.take_batch(layer_, event.tensor());
}

void DeviceGradientLook::process(const Event&) {
  const std::lock_guard lock(model_.mutex);
  model_.is_on_device = true;
  model_.end_pass();
  model_.epoch.has_backward = model_.step.added_up = true;
}

void GradientNumbers::process(const Event& event) {
  const Measurement& measured = event.measurement();
  const double norm = std::sqrt(measured.sum_squares);
  const std::lock_guard lock(model_.mutex);
  if ((event.raw()->flags & LOUPE_EVENT_DEFERRED) != 0) {
    state_.take_gradient(norm);
  } else {
    model_.end_pass();
    model_.epoch.has_backward = model_.step.added_up = true;
    state_.follow(model_.step_now);
    if (++state_.gradients == 1) ++model_.step.sums.counts.gradients;
    model_.passing.take_gradient(state_.gradients, norm);
    state_.gradient_norm = norm;
  }
  if (is_finite(measured) || !watched_.first_non_finite.meets_first()) return;
  Origin origin = origin_of(Origin::Place::gradient, event, measured, watched_);
  origin.parameter = state_.name;
  watched_.host.lend_parameter(state_.module, state_.name.c_str(), false, [&](const loupe_tensor& tensor) {
    origin.steep = draft::steep_functions(watched_.host, tensor);
  });
  watched_.first_non_finite.note(std::move(origin));
}

Request StepWatch::request() const {
  Request request;
  request.measures = LOUPE_MEASURE_SUMS | LOUPE_MEASURE_CHANGE;
  request.wants_tensor = place_ == LOUPE_PLACE_CPU;
  request.places = place_;
  return request;
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
      if (state_.gradients > 0) state_.take_gradient(state_.gradient_norm);
      if (state_.has_change) state_.take_change(change);
      model_.note_step(state_);
    } else if (has_change(measured)) {
      state_.take_change(change);
    }
    // Far above rounding, so that the elements that are compared change, too.
    constexpr double clearly = 1e-6;
    if (state_.is_matrix() && change > clearly * state_.norm) model_.start.changed = true;
  }
  if (!is_finite(measured) && watched_.first_non_finite.meets_first()) note_non_finite(event);
  if (place_ == LOUPE_PLACE_CPU && event.tensor()) look_at_rounding(event);
}

/// The optimizer's input may hold it: from a backward pass that was not looked at, or from a later change of the
/// gradient.
void StepWatch::note_non_finite(const Event& event) {
  bool gradient_rested = false;
  {
    const std::lock_guard lock(model_.mutex);
    gradient_rested = state_.rests;
  }
  Origin origin = origin_of(Origin::Place::parameter, event, event.measurement(), watched_);
  origin.parameter = state_.name;
  // On a device, the gradient may already be the next step's.
  if (gradient_rested || place_ == LOUPE_PLACE_CPU) {
    watched_.host.lend_parameter(state_.module, state_.name.c_str(), true, [&](const loupe_tensor& tensor) {
      const Extent gradient = Elements(&tensor).extent();
      if (gradient.is_finite()) return;
      origin.place = gradient_rested ? Origin::Place::gradient : Origin::Place::changed_gradient;
      origin.nan_count = gradient.nan_count;
      origin.inf_count = gradient.inf_count;
      origin.numel = tensor.numel;
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
    has_last_ = false;  // some steps were not looked at
  last_.resize(most_looked_at);
  std::array<bool, most_looked_at> moves{};  // it has a gradient
  const std::size_t number = state_.steps < start_steps || state_.steps % 16 == 0 ? 1 : 0;
  if (has_last_ && number != 0) {
    watched_.host.lend_parameter(state_.module, state_.name.c_str(), true, [&](const loupe_tensor& tensor) {
      const Elements gradient(&tensor);
      if (!gradient.readable() || gradient.count() != now.count()) return;
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

/// Leaves open whether its gradient was cleared: one that was set to 0 outside of autograd looks as if it was not.
void DeviceStepLook::process(const Event& event) {
  if (!event.tensor()) return;
  const std::lock_guard lock(model_.mutex);
  state_.follow(model_.step_now);
  model_.note_step(state_);
  model_.end_pass();
  model_.is_on_device = true;
}

}  // namespace loupe::health
