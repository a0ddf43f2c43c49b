#include "pipeline/step_ring.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace loupe {
namespace {

uint32_t small(int64_t count) {
  return static_cast<uint32_t>(std::min<int64_t>(count, std::numeric_limits<uint32_t>::max()));
}

void fill_in(KeptStep& kept, const loupe_measurement& measurement) {
  kept.is_waiting = false;
  kept.measures = static_cast<uint8_t>(measurement.measures);
  kept.numel = measurement.numel;
  kept.nan_count = small(kept.nan_count + measurement.nan_count);
  kept.inf_count = small(kept.inf_count + measurement.inf_count);
  kept.mean = measurement.numel > 0 ? static_cast<float>(measurement.sum / static_cast<double>(measurement.numel)) : 0;
  kept.norm = static_cast<float>(std::sqrt(measurement.sum_squares));
  kept.minimum = static_cast<float>(measurement.minimum);
  kept.maximum = static_cast<float>(measurement.maximum);
  kept.active_count = small(measurement.active_count);
  kept.unit_count = small(measurement.unit_count);
  kept.dead_units = small(measurement.dead_units);
  kept.has_change = measurement.has_change != 0;
  kept.change_norm = static_cast<float>(std::sqrt(measurement.change_sum_squares));
}

}  // namespace

KeptStep& StepRing::place_for(const loupe_event& event) {
  // A validation pass comes in the same step as the training before it, and is not to hide it.
  const Key key{static_cast<uint32_t>(event.step), event.flags, static_cast<uint8_t>(event.tap),
                static_cast<uint8_t>(event.index)};
  if (taken_ > 0 && key == last_) {
    KeptStep& last = steps_[(taken_ - 1) % size];
    last.last_number = static_cast<uint32_t>(event.number);
    return last;
  }
  last_ = key;
  KeptStep& next = steps_[taken_++ % size];
  next = {};
  next.step = key.step;
  next.first_number = next.last_number = static_cast<uint32_t>(event.number);
  next.tap = key.tap;
  next.index = key.index;
  next.flags = key.flags;
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
