#include "health/rules/resting.h"

#include "health/rules/model.h"

namespace loupe::health {
namespace {

// In steps. What was so often found to be as before is looked at more seldom.
constexpr uint32_t shortest_rest = 8, longest_rest = 22;
constexpr uint32_t looks_enough = 8, times_longer = 4;

}  // namespace

/// Not always after as many steps: what a loop does at every fourth step is to be met too.
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
  model.usual.clear();
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
    // Of a first layer the events on a device do not rest: its input is not read there.
    if (((layer.rests | before) & LOUPE_REST_EVENTS) == 0) continue;
    changes.rests.emplace_back(layer.device_outputs, layer.rests);
    changes.rests.emplace_back(layer.device_looks, layer.rests);
  }
  if (!looking_) model.output_tally.begin(model, changes);
}

}  // namespace loupe::health
