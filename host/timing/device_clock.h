#pragma once

#include <cstddef>

namespace loupe {

/// Tells when a device gets to places in its queue of work. Nothing waits for the device. One call at a time.
class DeviceClock {
 public:
  virtual ~DeviceClock() = default;
  /// Places a mark behind the work that the calling thread has queued on the device.
  virtual void mark() = 0;
  /// Whether the calling thread works on this device.
  virtual bool is_current() const = 0;
  enum class State { pending, reached, failed };
  /// Whether the device has got to all marks. It fails where the device cannot tell.
  virtual State state() = 0;
  /// Seconds from the first mark to this one. Throws std::exception where the device cannot tell.
  virtual double seconds(std::size_t mark) = 0;
};

}  // namespace loupe
