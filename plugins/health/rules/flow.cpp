#include "health/rules/flow.h"

#include <loupe/draft/abi/flags.h>
#include <cmath>

#include "health/rules/elements.h"
#include "health/rules/model.h"

namespace loupe::health {
namespace {

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
  // Where it is so, and can be read quickly, reading the input costs less than measuring the output.
  constexpr int64_t much = 4;
  now.has_small_input =
      event.input_count() > 0 && event.input(0).numel() * much <= count_ && Elements(event.input(0).raw()).is_quick();
  std::size_t i = 0;
  out.sample(most_compared, [&](int64_t place) { some_[i++] = out.at(place); });
}

/// What does not always stand between the same two never rests: a step that is not looked at may be the other kind.
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
  if (now.was_constant && !layer.is_constant()) return 0;  // constant_output has not made up its mind
  const bool is_first = &layer == model.first_layer;
  // One activation may stand behind several layers: whose NaN it shows is then not known.
  const bool is_seen = now.taken == now.runs && !now.to->wavers && now.to->shows_non_finite;
  const bool is_between = !is_first && now.from != nullptr;
  if (is_between && (layer.only_selects || (layer.is_maker() && is_seen))) return LOUPE_REST_EVENTS;
  return is_first && layer.is_maker() && is_seen && now.has_small_input ? LOUPE_DRAFT_REST_MEASURES : 0;
}

}  // namespace loupe::health
