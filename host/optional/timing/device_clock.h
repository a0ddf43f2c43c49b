#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "timing/step_split.h"

namespace loupe {

/// Measures when a device reaches marks in its queue, without waiting for it. One call at a time.
class DeviceClock {
 public:
  virtual ~DeviceClock() = default;
  /// Places a mark after the work that the calling thread has queued on the device.
  virtual void mark() = 0;
  /// Whether the calling thread uses this device.
  virtual bool is_current() const = 0;
  enum class State { pending, reached, failed };
  /// Whether the device has reached all marks; failed if the device does not report it.
  virtual State state() = 0;
  /// Seconds from the first mark to this one. Throws std::exception if the device does not report them.
  virtual double seconds(std::size_t mark) = 0;
};

/// Records the calls of one step, each with a mark in the device's queue, and replays them with the device's times. Any
/// thread.
class DeviceMarks {
 public:
  /// The step begins.
  explicit DeviceMarks(std::unique_ptr<DeviceClock> clock) : clock_(std::move(clock)) { clock_->mark(); }

  void add(StepCall call) {
    const std::lock_guard lock(mutex_);
    clock_->mark();
    calls_.push_back(std::move(call));
  }
  bool is_current() const { return clock_->is_current(); }
  /// The step has ended. @param layer_of  maps a node's number to its layer; called in the order of the nodes
  template <class LayerOf>
  void end(const LayerOf& layer_of) {
    const std::lock_guard lock(mutex_);
    clock_->mark();
    for (StepCall& call : calls_) {
      if (call.kind == StepCall::Kind::enter_node) call.layer = layer_of(call.number);
    }
  }
  DeviceClock::State state() {
    const std::lock_guard lock(mutex_);
    return clock_->state();
  }
  /// Replays the step into `account` and returns its duration. @param begin  its time  Throws like
  /// DeviceClock::seconds.
  double tell(StepAccount& account, double begin, bool keeps_spans) {
    const std::lock_guard lock(mutex_);
    account.begin(begin, keeps_spans);
    double now = begin;
    const auto at = [&](std::size_t mark) {
      // Streams of one device do not wait for each other.
      return now = std::max(now, begin + clock_->seconds(mark));
    };
    // If nodes run on two threads at once, the first thread counts.
    int open[2] = {}, left_out[2] = {};
    const auto counts = [&](const StepCall& call) {
      const int thread = call.elsewhere ? 1 : 0;
      if (call.kind == StepCall::Kind::enter_node) {
        const bool is_free = open[1 - thread] == 0;
        ++(is_free ? open : left_out)[thread];
        return is_free;
      }
      if (call.kind != StepCall::Kind::leave_node) return true;
      const bool was_left_out = left_out[thread] > 0;
      --(was_left_out ? left_out : open)[thread];
      return !was_left_out;
    };
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      const double time = at(i + 1);
      if (counts(calls_[i])) account.tell(calls_[i], time);
    }
    return account.end(at(calls_.size() + 1));
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<DeviceClock> clock_;
  std::vector<StepCall> calls_;
};

}  // namespace loupe
