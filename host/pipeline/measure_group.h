#pragma once

#include <loupe/abi.h>

#include <functional>
#include <memory>

#include "black_box/last_steps.h"
#include "measure/measurer.h"
#include "pipeline/lens_guard.h"

namespace loupe {

/// Measures a device's tensors without waiting for it. Made by the part of the host that knows LibTorch.
class DeviceMeasurer {
 public:
  using Deliver = std::function<void(const loupe_measurement& measurement, uint32_t flags, uint64_t number)>;
  virtual ~DeviceMeasurer() = default;
  virtual void prime(const loupe_tensor& tensor) = 0;
  /// The next event has none before it.
  virtual void forget() = 0;
  /// Enqueues the work; never waits, never copies to the host.
  virtual void measure(const loupe_tensor& tensor, uint32_t flags, uint64_t number) = 0;
  /// One copy to the host, then every measurement in the order of the events.
  virtual void collect(const Deliver& deliver) = 0;
};
/// @param history  how many elements of a tensor are compared with earlier ones at most; see measure::Sample
using DeviceMeasurerFactory =
    std::function<std::unique_ptr<DeviceMeasurer>(const loupe_request& request, int64_t history)>;
/// The process's: what all inspectors use from now on. Any thread.
void set_device_measurer_factory(DeviceMeasurerFactory factory);

/// What is measured once per event for all preprocessors behind a gatherer that ask for the same. Under the module's
/// mutex.
class MeasureGroup {
 public:
  MeasureGroup(const loupe_request& wanted, int64_t history, const LensGuard& guard)
      : measurer_(wanted, history), request_(wanted), history_(history), every_(guard.every()) {}

  /// Whether what is wanted can be measured together with the rest.
  bool accepts(const loupe_request& wanted, const LensGuard& guard) const;
  void merge(const loupe_request& wanted, const LensGuard& guard);

  /// What somebody wants of the coming events, LOUPE_MEASURE_ bits; with none it rests. What begins to be compared
  /// begins anew.
  /// @param some_rest  a source behind it rests, and is not to be given what is measured on a device meanwhile
  void restrict_to(uint32_t measures, bool some_rest);
  /// Steps went by unseen: the next event has none before it.
  void begin_anew();
  /// Gives the value that changes are counted from, if it has begun anew.
  void prime(const loupe_tensor& tensor);

  /// Of an event whose tensor lies in the processor's memory.
  loupe_measurement measure(const loupe_event& event) {
    fresh_ = false;
    const loupe_measurement measurement = measurer_.measure(*event.tensor);
    if (last_steps_) last_steps_->add(event, measurement);
    return measurement;
  }
  void measure_on_device(const loupe_event& event);
  /// What was measured on a device since the last call.
  using Deliver = std::function<void(const loupe_event& event, bool some_rested)>;
  /// @param event  what all of the events have in common
  void collect(loupe_event event, const Deliver& deliver);

  /// From now on the last steps are kept.
  void keep_last_steps() {
    if (!last_steps_) last_steps_ = std::make_unique<LastSteps>();
  }
  /// Null where nothing was measured, or nobody may want them.
  const LastSteps* last_steps() const { return last_steps_ && last_steps_->count() > 0 ? last_steps_.get() : nullptr; }
  /// Bytes held for measuring.
  std::size_t bytes() const { return measurer_.bytes(); }

 private:
  bool sees_the_same(const loupe_request& wanted, const LensGuard& guard) const;
  DeviceMeasurer* device();

  measure::Measurer measurer_;
  std::unique_ptr<DeviceMeasurer> device_;
  loupe_request request_;
  int64_t history_;
  int every_;               // its first lens looks at every n-th tick
  uint32_t tap_ = 0;        // of the last event measured on the device
  bool mixed_ = false;      // not all behind it see the same events
  bool resting_ = true;     // nobody behind it wants the coming events
  bool some_rest_ = false;  // one behind it rests
  bool fresh_ = true;       // nothing was measured since it began anew
  std::unique_ptr<LastSteps> last_steps_;
};

}  // namespace loupe
