#include "health/resting.h"

#include "health/model.h"

namespace loupe::health {
namespace {

constexpr uint64_t first_steps = 3;  // which rules about the start look at
// In steps. What was so often found to be as before is looked at more seldom.
constexpr uint32_t shortest_rest = 8, longest_rest = 22;
constexpr uint32_t looks_enough = 8, times_longer = 4;

bool was_seen(const ParameterState& state) {
  return state.parameter != nullptr && state.stepped && state.gradients > 0;
}

/// A NaN in what goes back through a layer gets into the gradients of all its parameters, and they step together: its
/// weight, or the first where there is none, shows what the rest of them would.
void choose_parameters(Model& model) {
  for (auto& [module, parts] : model.modules) {
    const ParameterState* shown = nullptr;
    for (const ParameterState* each : parts.parameters) {
      if (was_seen(*each) && (shown == nullptr || (each->is_matrix() && !shown->is_matrix()))) shown = each;
    }
    for (ParameterState* each : parts.parameters) {
      const bool rests = each != shown && was_seen(*each) && !each->is_matrix() && !each->is_low_precision &&
                         each->gradients == shown->gradients;
      each->shown_by = rests ? shown : nullptr;
    }
  }
}

}  // namespace

/// Not always after as many steps: what a loop does at every fourth step is to be met too.
uint32_t Resting::next_rest() {
  random_ = random_ * 1664525 + 1013904223;
  const uint32_t steps = shortest_rest + (random_ >> 16) % (longest_rest - shortest_rest + 1);
  return steady_looks_ < looks_enough ? steps : times_longer * steps;
}

void Resting::end_step(Model& model, bool all, std::vector<Rest>& changes) {
  if (model.steps < first_steps || (all && looking_)) return;
  if (!all && !looking_ && steps_left_ > 0 && --steps_left_ > 0) return;
  looking_ = !looking_;
  model.flow.end_pass();
  model.usual.clear();
  if (!looking_) {
    bool is_as_before = true;
    for (Layer& layer : model.layers) is_as_before = Flow::settle(layer) && is_as_before;
    steady_looks_ = is_as_before ? steady_looks_ + 1 : 0;
    steps_left_ = next_rest();
    choose_parameters(model);
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
    changes.emplace_back(layer.outputs, layer.rests);
    // Of a first layer the events on a device do not rest: its input is not read there.
    if (((layer.rests | before) & LOUPE_REST_EVENTS) == 0) continue;
    changes.emplace_back(layer.device_outputs, layer.rests);
    changes.emplace_back(layer.device_looks, layer.rests);
  }
  for (ParameterState& each : model.parameters) {
    if (each.shown_by == nullptr) continue;
    if (looking_) each.shown_by = nullptr;
    for (const Source& source : each.sources) changes.emplace_back(source, looking_ ? 0 : LOUPE_REST_EVENTS);
  }
}

}  // namespace loupe::health
