#include "pipeline/step_ring.h"

namespace loupe {
namespace {

void fill_in(KeptStep& kept, const loupe_measurement& measurement) {
  kept.is_waiting = false;
  kept.measures = measurement.measures;
  kept.numel = measurement.numel;
  kept.nan_count += measurement.nan_count;
  kept.inf_count += measurement.inf_count;
  kept.sum = measurement.sum;
  kept.sum_squares = measurement.sum_squares;
  kept.minimum = measurement.minimum;
  kept.maximum = measurement.maximum;
  kept.active_count = measurement.active_count;
  kept.unit_count = measurement.unit_count;
  kept.dead_units = measurement.dead_units;
  kept.has_change = measurement.has_change != 0;
  kept.change_sum_squares = measurement.change_sum_squares;
}

}  // namespace

KeptStep& StepRing::place_for(const loupe_event& event) {
  // A validation pass comes in the same step as the training before it, and is not to hide it.
  if (taken_ > 0) {
    KeptStep& last = steps_[(taken_ - 1) % size];
    if (last.step == event.step && last.tap == event.tap && last.index == event.index && last.flags == event.flags) {
      last.last_number = event.number;
      return last;
    }
  }
  KeptStep& next = steps_[taken_++ % size];
  next = {};
  next.step = event.step;
  next.first_number = next.last_number = event.number;
  next.tap = event.tap;
  next.index = event.index;
  next.flags = event.flags;
  return next;
}

void StepRing::take(const loupe_event& event, const loupe_measurement& measurement) {
  fill_in(place_for(event), measurement);
}

void StepRing::fill(uint64_t number, const loupe_measurement& measurement) {
  for (std::size_t i = count(); i > 0; --i) {
    KeptStep& each = steps_[(taken_ - count() + i - 1) % size];
    if (number < each.first_number || number > each.last_number) continue;
    fill_in(each, measurement);
    return;
  }
}

}  // namespace loupe
