#include "incidents/last_steps.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace loupe::incidents {
namespace {

uint32_t small(int64_t count) {
  return static_cast<uint32_t>(std::min<int64_t>(count, std::numeric_limits<uint32_t>::max()));
}

void fill_in(StepNumbers& numbers, const loupe_measurement& measurement) {
  numbers.is_waiting = false;
  numbers.measures = static_cast<uint8_t>(measurement.measures);
  numbers.numel = measurement.numel;
  numbers.nan_count = small(numbers.nan_count + measurement.nan_count);
  numbers.inf_count = small(numbers.inf_count + measurement.inf_count);
  numbers.mean =
      measurement.numel > 0 ? static_cast<float>(measurement.sum / static_cast<double>(measurement.numel)) : 0;
  numbers.norm = static_cast<float>(std::sqrt(measurement.sum_squares));
  numbers.minimum = static_cast<float>(measurement.minimum);
  numbers.maximum = static_cast<float>(measurement.maximum);
  numbers.active_count = small(measurement.active_count);
  numbers.unit_count = small(measurement.unit_count);
  numbers.dead_units = small(measurement.dead_unit_count);
  numbers.has_change = has_change(measurement);
  numbers.change_norm = static_cast<float>(std::sqrt(measurement.change_sum_squares));
}

}  // namespace

StepNumbers& LastSteps::place_for(const loupe_event& event) {
  // The flags are part of the key, so that a validation pass in the same step does not replace the training step.
  const Key key{static_cast<uint32_t>(event.step), event.flags, static_cast<uint8_t>(event.tap),
                static_cast<uint8_t>(event.index)};
  if (taken_ > 0 && key == last_) {
    StepNumbers& last = steps_[(taken_ - 1) % size];
    last.last_number = static_cast<uint32_t>(event.number);
    return last;
  }
  last_ = key;
  StepNumbers& next = steps_[taken_++ % size];
  next = {};
  next.step = key.step;
  next.first_number = next.last_number = static_cast<uint32_t>(event.number);
  next.tap = key.tap;
  next.index = key.index;
  next.flags = key.flags;
  return next;
}

void LastSteps::add(const loupe_event& event) {
  if (event.measurement == nullptr) {
    place_for(event).is_waiting = true;
  } else if ((event.flags & LOUPE_EVENT_DEFERRED) != 0) {
    fill(event.number, *event.measurement);
  } else {
    fill_in(place_for(event), *event.measurement);
  }
}

void LastSteps::fill(uint64_t number, const loupe_measurement& measurement) {
  for (std::size_t i = count(); i > 0; --i) {
    StepNumbers& each = steps_[(taken_ - count() + i - 1) % size];
    if (number < each.first_number || number > each.last_number) continue;
    fill_in(each, measurement);
    return;
  }
}

}  // namespace loupe::incidents
