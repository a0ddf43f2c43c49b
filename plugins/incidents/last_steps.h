#pragma once

#include <loupe/event.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace loupe::incidents {

/// The measurements of one step of a stream, kept small because each stream has 64. If a step has several events, only
/// the last one counts, except for NaN and Inf.
struct StepNumbers {
  int64_t numel = 0;
  uint32_t step = 0;
  uint32_t first_number = 0, last_number = 0;  ///< numbers of the stream's events
  uint32_t flags = 0;
  uint32_t nan_count = 0, inf_count = 0;
  uint32_t active_count = 0, unit_count = 0, dead_units = 0;
  float mean = 0, norm = 0, minimum = 0, maximum = 0, change_norm = 0;
  float scalar = 0;  ///< a pushed value
  uint8_t tap = 0, index = 0;
  uint8_t measures = 0;     ///< LOUPE_MEASURE_ bits of valid members
  bool is_waiting = false;  ///< the device has not delivered them yet
  bool has_change = false;
};

/// The last steps of one stream, for incidents. Allocates memory only once. Calls must not overlap.
class LastSteps {
 public:
  static constexpr std::size_t size = 64;

  /// Adds an event. A device may deliver its measurement later, under the event's number.
  void add(const loupe_event& event);
  /// Adds a value without a tensor.
  void add(const loupe_event& event, double scalar) { place_for(event).scalar = static_cast<float>(scalar); }

  std::size_t count() const { return taken_ < size ? static_cast<std::size_t>(taken_) : size; }
  /// The steps from the oldest, 0, to the newest.
  const StepNumbers& at(std::size_t place) const { return steps_[(taken_ - count() + place) % size]; }

 private:
  void fill(uint64_t number, const loupe_measurement& measurement);
  StepNumbers& place_for(const loupe_event& event);

  /// Identifies the last step; stored in the same cache line as the counter.
  struct Key {
    uint32_t step = 0, flags = 0;
    uint8_t tap = 0, index = 0;
    bool operator==(const Key& other) const {
      return step == other.step && flags == other.flags && tap == other.tap && index == other.index;
    }
  };

  uint64_t taken_ = 0;
  Key last_;
  std::array<StepNumbers, size> steps_;
};

}  // namespace loupe::incidents
