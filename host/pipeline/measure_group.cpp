#include "pipeline/measure_group.h"

#include <loupe/error.h>

#include <utility>

#include "core/forks.h"

namespace loupe {
namespace {

ProcessMutex factory_mutex;
DeviceMeasurerFactory& factory() {
  static auto& made = *new DeviceMeasurerFactory();
  return made;
}
DeviceMeasurerFactory device_factory() {
  const std::lock_guard lock(factory_mutex);
  return factory();
}

/// Added to the flags of an event that a device measured: some source rested.
constexpr uint32_t kSomeRested = 1U << 31;

}  // namespace

void set_device_measurer_factory(DeviceMeasurerFactory made) {
  const std::lock_guard lock(factory_mutex);
  factory() = std::move(made);
}

bool MeasureGroup::sees_the_same(const loupe_request& wanted, const LensGuard& guard) const {
  return request_.passes == wanted.passes && ((request_.flags ^ wanted.flags) & LOUPE_REQUEST_PASS_BY_GRADIENT) == 0 &&
         every_ == guard.every();
}

/// Those that compare an event with the one before must see the same events.
bool MeasureGroup::accepts(const loupe_request& wanted, const LensGuard& guard) const {
  constexpr uint32_t history = LOUPE_MEASURE_PREVIOUS | LOUPE_MEASURE_CHANGE | LOUPE_MEASURE_CHANGE_PREVIOUS;
  const bool compares = ((request_.measures | wanted.measures) & history) != 0;
  return measurer_.accepts(wanted) && (!compares || (!mixed_ && sees_the_same(wanted, guard)));
}

void MeasureGroup::merge(const loupe_request& wanted, const LensGuard& guard) {
  measurer_.merge(wanted);
  mixed_ = mixed_ || !sees_the_same(wanted, guard);
  if ((request_.measures & LOUPE_MEASURE_ACTIVITY) == 0) {
    request_.unit_dimension = wanted.unit_dimension;
    request_.epsilon = wanted.epsilon;
  }
  request_.measures |= wanted.measures;
}

void MeasureGroup::restrict_to(uint32_t measures, bool some_rest) {
  some_rest_ = some_rest;
  const bool was_resting = std::exchange(resting_, measures == 0);
  if (resting_) return;
  const bool begins_to_compare = measurer_.restrict_to(measures);
  if (was_resting || begins_to_compare) begin_anew();
}

void MeasureGroup::begin_anew() {
  fresh_ = true;
  measurer_.forget_history();
  if (device_) device_->forget();
}

/// Null where this host cannot measure on devices.
DeviceMeasurer* MeasureGroup::device() {
  if (!device_) {
    if (const DeviceMeasurerFactory make = device_factory()) device_ = make(request_, history_);
  }
  return device_.get();
}

void MeasureGroup::prime(const loupe_tensor& tensor) {
  constexpr uint32_t changes = LOUPE_MEASURE_CHANGE | LOUPE_MEASURE_CHANGE_PREVIOUS;
  if (!fresh_ || resting_ || (request_.measures & changes) == 0) return;
  if (tensor.device_type == LOUPE_DEVICE_CPU) {
    measurer_.prime(tensor);
  } else if (DeviceMeasurer* on_device = device()) {
    on_device->prime(tensor);
  }
}

void MeasureGroup::measure_on_device(const loupe_event& event) {
  fresh_ = false;
  DeviceMeasurer* on_device = device();
  if (on_device == nullptr) throw Error("tensors on a device cannot be measured by this host", LOUPE_UNSUPPORTED);
  tap_ = event.tap;
  on_device->measure(*event.tensor, event.flags | (some_rest_ ? kSomeRested : 0), event.number);
  if (last_steps_) last_steps_->expect(event);
}

void MeasureGroup::collect(loupe_event event, const Deliver& deliver) {
  if (!device_) return;
  device_->collect([&](const loupe_measurement& measurement, uint32_t flags, uint64_t number) {
    event.tap = tap_;
    event.flags = (flags & ~kSomeRested) | LOUPE_EVENT_DEFERRED;
    event.measurement = &measurement;
    event.number = number;
    if (last_steps_) last_steps_->fill(number, measurement);
    deliver(event, (flags & kSomeRested) != 0);
  });
}

}  // namespace loupe
