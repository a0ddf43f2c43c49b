#include "torch/tensor/device_clock.h"

#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <deque>
#include <exception>

namespace loupe {
namespace {

using Guard = c10::impl::VirtualGuardImpl;

template <class Device>
constexpr bool tells_captures = requires(const Device& device, const c10::Stream& stream) {
  device.isStreamCapturing(stream);
};

template <class Event, class Device>
class EventClock : public DeviceClock {
 public:
  explicit EventClock(c10::Device device) : place_(device), device_(device.type()) {}

  void mark() override {
    if (failed_) return;
    try {
      const c10::Stream stream = device_.getStream(place_);
      failed_ = device_.isStreamCapturing(stream);
      // Events made with PyTorch's default flag keep no time.
      if (!failed_) events_.emplace_back(place_.type(), c10::EventFlag::BACKEND_DEFAULT).record(stream);
    } catch (const std::exception&) {
      failed_ = true;
    }
  }
  bool is_current() const override {
    try {
      return device_.getDevice() == place_;
    } catch (const std::exception&) {
      return false;
    }
  }
  State state() override {
    if (failed_) return State::failed;
    try {
      if (device_.isStreamCapturing(device_.getStream(place_))) return State::pending;
      for (; reached_ < events_.size(); ++reached_) {
        if (!events_[reached_].query()) return State::pending;
      }
      return State::reached;
    } catch (const std::exception&) {
      failed_ = true;
      return State::failed;
    }
  }
  double seconds(std::size_t mark) override { return events_.front().elapsedTime(events_.at(mark)) / 1e3; }

 private:
  const c10::Device place_;
  const Device device_;
  std::deque<Event> events_;
  std::size_t reached_ = 0;
  bool failed_ = false;
};

template <class Event, class Device>
std::unique_ptr<DeviceClock> make(c10::Device device) {
  if constexpr (tells_captures<Device>) {
    try {
      if (!device.is_cpu()) return std::make_unique<EventClock<Event, Device>>(device);
    } catch (const std::exception&) {  // none that has events
    }
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<DeviceClock> make_device_clock(c10::Device device) {
  return make<c10::Event, Guard>(device);
}

}  // namespace loupe
