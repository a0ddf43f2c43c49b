#include "health/flow.h"

#include <algorithm>

#include "health/elements.h"
#include "health/model.h"

namespace loupe::health {
namespace {

constexpr uint64_t first_steps = 3;     // which rules about the start look at
constexpr uint32_t steps_of_rest = 15;  // of 16

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

}  // namespace

void Flow::take(Layer& layer, const Event& event) {
  const Elements out(event.tensor().raw());
  Layer* from = nullptr;
  if (last_ != nullptr && event.input_count() > 0) {
    const loupe_tensor* input = event.input(0).raw();
    const Elements in(input);
    if (in.readable() && input->data == data_ && in.count() == count_) {
      // What works in place has changed its input meanwhile, but not what was above 0.
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
  Layer::Flow& flow = layer.flow;
  flow.steady = flow.steady && (flow.runs == 0 || flow.from == from);
  flow.has_one_input = flow.has_one_input && event.input_count() == 1;
  flow.from = from;
  ++flow.runs;
  if (from != nullptr) {
    from->flow.steady = from->flow.steady && (from->flow.taken == 0 || from->flow.to == &layer);
    from->flow.to = &layer;
    ++from->flow.taken;
  }
  last_ = nullptr;
  if (!out.readable()) return;
  last_ = &layer;
  data_ = event.tensor().raw()->data;
  count_ = out.count();
  // Reading an input that is larger than its output costs more than measuring the output.
  constexpr int64_t much = 4;
  flow.is_widened = event.input_count() > 0 && event.input(0).numel() * much <= count_;
  std::size_t i = 0;
  out.sample(most_compared, [&](int64_t place) { some_[i++] = out.at(place); });
}

/// What rests is a layer between two that are looked at: what goes in was seen to be finite, and what comes out is seen
/// behind it. So at most one that could make a NaN lies between them, and its name is known when one is there.
void Flow::choose(const Model& model, Layer& layer) const {
  const Layer::Flow& flow = layer.flow;
  if (flow.runs == 0 || !flow.steady || !flow.has_one_input || &layer == model.last_layer) return;
  if (flow.was_constant && !layer.is_constant()) return;  // constant_output has not made up its mind
  const bool is_first = &layer == model.first_layer;
  // One activation may stand behind several layers: whose NaN it shows is then not known.
  const bool is_seen = flow.taken == flow.runs && flow.to->flow.steady && flow.to->shows_non_finite;
  if (layer.is_maker() && is_seen) {
    if (!is_first && flow.from != nullptr) layer.rests = LOUPE_REST_EVENTS;
    if (is_first && flow.is_widened) layer.rests = LOUPE_REST_MEASURES;
  }
  if (layer.only_selects && !is_first && flow.from != nullptr) layer.rests = LOUPE_REST_EVENTS;
}

void Flow::end_step(Model& model, std::vector<Rest>& changes) {
  if (model.steps < first_steps) return;
  if (!looking_ && steps_left_ > 0 && --steps_left_ > 0) return;
  looking_ = !looking_;
  steps_left_ = steps_of_rest;
  end_pass();
  for (Layer& layer : model.layers) {
    const uint32_t before = layer.rests;
    layer.rests = 0;
    if (looking_) {
      layer.flow = {};
    } else {
      choose(model, layer);
    }
    if (layer.module == nullptr || layer.rests == before) continue;
    changes.emplace_back(layer.outputs, layer.rests);
    // The rest of a first layer is none on a device: its input is not read there.
    if (((layer.rests | before) & LOUPE_REST_EVENTS) != 0) changes.emplace_back(layer.device_outputs, layer.rests);
  }
}

}  // namespace loupe::health
