// Which streams the lens subscribes to, and what it keeps of each model.

#include <loupe/draft/abi/flags.h>
#include <loupe/draft/abi/loss_input.h>
#include <loupe/internal/tally.h>
#include <algorithm>
#include <string>
#include <tuple>

#include "health/health.h"

namespace loupe::health {

/// A model that is attached again begins anew, while the numbers of the time before may still wait for their tick.
Model& Health::model_of(const Module& module) {
  if (!module.is_root()) {
    const auto known = std::find_if(models_.rbegin(), models_.rend(),
                                    [&](const auto& model) { return model->name == module.model(); });
    if (known != models_.rend()) return **known;
  }
  models_.push_back(std::make_unique<Model>(module.model()));
  if (spare_tallies_.empty()) {
    models_.back()->tallies = Tallies({internal::make_tally(*this), internal::make_tally(*this)},
                                      {internal::make_tally(*this), internal::make_tally(*this)});
    models_.back()->output_tally = OutputTally(internal::make_tally(*this));
  } else {
    std::tie(models_.back()->tallies, models_.back()->output_tally) = spare_tallies_.back();
    spare_tallies_.pop_back();
  }
  return *models_.back();
}

/// Not while a module is being forgotten: what watches it ends after that.
void Health::drop_detached() {
  const auto gone =
      std::stable_partition(models_.begin(), models_.end(), [](const auto& model) { return !model->modules.empty(); });
  for (auto each = gone; each != models_.end(); ++each)
    spare_tallies_.emplace_back((*each)->tallies.emptied(), (*each)->output_tally.emptied());
  models_.erase(gone, models_.end());
}

void Health::visit(const Module& module) {
  if (module.is_loss()) return;
  if (module.is_root()) drop_detached();
  Model& model = model_of(module);
  model.modules[module.raw()];
  if ((module.raw()->flags & LOUPE_DRAFT_MODULE_UNREGISTERED) != 0) {
    unregistered_.push_back(module.raw());
    met_unregistered_ = true;
    return;
  }
  if (module.is_root()) {
    model.root = module.raw();
    watch(module, {LOUPE_DRAFT_GATHER_LOSS_INPUT}, keep<LossInputLook>(model));
  }
  const bool runs_as_one = module.is_leaf() || module.family() == LOUPE_FAMILY_ATTENTION;
  const Layer* layer = runs_as_one && module.is_tapped() ? &watch_layer(model, module) : nullptr;
  watch_parameters(model, module, layer);
}

const Layer& Health::watch_layer(Model& model, const Module& module) {
  Layer* layer = nullptr;
  {
    // Functions are met while the model runs.
    const std::lock_guard lock(model.mutex);
    layer = &model.layers.emplace_back(module);
    model.modules[module.raw()].layers.push_back(layer);
  }
  const Source outputs = watch(module, {"forward"}, keep<OutputWatch>(model, *layer, LOUPE_PLACE_CPU));
  const Source device_outputs = watch(module, {"forward"}, keep<OutputWatch>(model, *layer, LOUPE_PLACE_DEVICE));
  const Source device_looks = watch(module, {"forward"}, keep<DeviceOutputLook>(model, *layer));
  const std::lock_guard lock(model.mutex);
  layer->outputs = outputs;
  layer->device_outputs = device_outputs;
  layer->device_looks = device_looks;
  return *layer;
}

void Health::watch_parameters(Model& model, const Module& module, const Layer* layer) {
  for (std::size_t i = 0; i < module.parameter_count(); ++i) {
    const Parameter& parameter = module.parameter(i);
    if (is_buffer(parameter)) continue;
    ParameterState* state = nullptr;
    {
      const std::lock_guard lock(model.mutex);
      state = &model.parameters.emplace_back();
      model.modules[module.raw()].parameters.push_back(state);
    }
    state->module = module.raw();
    state->parameter = module.raw()->parameters[i];
    state->index = i;
    state->service = watched_.host.parameters();
    state->host = watched_.host.context();
    state->layer = module.name();
    state->name = parameter.name;
    state->runs = layer;
    const Watch gradient = Watch("parameter_gradient").label(parameter.name);
    const Watch step = Watch("optimizer_step").label(parameter.name);
    state->gradient_source = watch(module, gradient, keep<GradientNumbers>(model, *state));
    state->device_gradient_look = watch(module, gradient, keep<DeviceGradientLook>(model));
    state->step_source = watch(module, step, keep<StepWatch>(model, *state, LOUPE_PLACE_CPU));
    watch(module, step, keep<StepWatch>(model, *state, LOUPE_PLACE_DEVICE));
    watch(module, step, keep<DeviceStepLook>(model, *state));
  }
}

void Health::forget(const Module& module) {
  ledger_.forget(module.raw());
  const std::optional<Origin> origin = watched_.trail.first();
  if (origin && origin->module == module.raw()) watched_.trail.forget();
  if (non_finite_ && non_finite_->module == module.raw()) non_finite_.reset();
  unregistered_.erase(std::remove(unregistered_.begin(), unregistered_.end(), module.raw()), unregistered_.end());
  for (const auto& model : models_) {
    const std::lock_guard lock(model->mutex);
    const auto parts = model->modules.find(module.raw());
    if (parts == model->modules.end()) continue;
    if (model->root == module.raw()) model->root = nullptr;
    model->pass = {};
    model->resting.begin_anew();
    model->flow.end_pass();
    model->sums.weights.largest = model->sums.others.largest = nullptr;
    model->small_norm = model->lone_softmax = nullptr;
    model->path.clear();
    model->path_end = nullptr;
    model->first_layer = model->last_layer = model->dropped_in_eval = nullptr;
    // What watches them refers to them until this call has ended.
    for (Layer* layer : parts->second.layers) {
      layer->module = nullptr;
      layer->first_run = 0;
      layer->rests = 0;
      layer->may_be_added_up = layer->is_added_up = layer->lacks_input = false;
      layer->neighbours = {};
      for (Layer& other : model->layers) other.forget(*layer);
      layer->next_window();
    }
    for (ParameterState* each : parts->second.parameters) *each = {};
    model->modules.erase(parts);
  }
}

}  // namespace loupe::health
