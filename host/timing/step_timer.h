#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/forks.h"
#include "pipeline/module_node.h"
#include "timing/device_marks.h"
#include "timing/step_account.h"

namespace loupe {

/// One step that was timed.
struct TimedStep {
  uint64_t number = 0;  ///< of the run's clock
  double seconds = 0;
  double parts[step_parts] = {};
  struct Layer {
    std::weak_ptr<ModuleNode> node;
    StepSplit::Layer time;
    double kept = 0;  ///< bytes that its forward made and that were there when the backward pass began
  };
  std::vector<Layer> layers;
  using Span = StepAccount::Span;
  /// In seconds of the steady clock; in a step that is traced. A layer is one of `layers`.
  std::vector<Span> spans;
  double begin = 0;
  bool has_memory = false;  ///< `kept` and the next two, in bytes
  double kept_outside = 0, optimizer_state = 0;
  /// The times are those of a device's queue, from the moment on at which the step began on the host. False where they
  /// are the host's, also for a step whose work is on a device.
  bool on_device = false;
};

/// Times single steps: of one monitor at a time, on the thread that takes them. Between them a tap pays for one branch.
class StepTimer {
 public:
  using Nodes = std::vector<std::weak_ptr<ModuleNode>>;

  static StepTimer& instance();
  /// The timer, where the calling thread is in the middle of a step that is timed; else null.
  static StepTimer* here() {
    const void* const thread = thread_.load(std::memory_order_relaxed);
    return thread != nullptr && thread == &this_thread_ ? &instance() : nullptr;
  }

  // What a monitor asks for. Any thread.
  /// What to do with a step beside timing it.
  struct Wish {
    bool memory = false, trace = false;
  };
  /// Times the monitor's next step, unless another monitor's is timed.
  void request(const void* monitor, Wish wish);
  /// The step that is on ends with the next call of step_over: one that the monitor counts, by that number.
  void close(const void* monitor, uint64_t number);
  /// The first of the steps that were asked for and are over, on the device too.
  std::optional<TimedStep> take(const void* monitor);
  /// The step that is on is none: the monitor ticks in it, or ends. Returns whether one was asked for.
  /// @param ends  it takes no more steps
  bool drop(const void* monitor, bool ends = false);

  /// Where a step is over and all of Loupe's work after it: the one that is timed ends, and the one that was asked for
  /// begins. On the thread that took the step. Returns whether what comes is timed.
  /// @param clock_of_device  makes the clock of the device that the next step's work is on, or null; where one begins
  bool step_over(const std::function<std::unique_ptr<DeviceClock>()>& clock_of_device = nullptr);

  // What happens in a timed step, on its thread.
  /// @param module  only to compare with  @param nodes  called for one that is new
  /// @param made  how many nodes of the graph this thread has made so far
  template <class Find>
  void enter_module(const void* module, bool trains, int64_t made, const Find& nodes) {
    const auto [place, is_new] = numbers_.try_emplace(module, static_cast<int>(layers_.size()));
    if (is_new) layers_.push_back(nodes());
    enter(place->second, trains, made);
  }
  void leave_module(int64_t made);
  /// @param number  autograd's, of the node; those that add up a parameter's gradient have a negative one, and belong
  /// to the layer whose node ran before
  void enter_node(int64_t number, const char* name);
  void leave_node() { tell({StepCall::Kind::leave_node}); }
  void enter_optimizer() { tell({StepCall::Kind::enter_optimizer}); }
  void leave_optimizer() { tell({StepCall::Kind::leave_optimizer}); }
  void enter_loupe() { tell({StepCall::Kind::enter_loupe}); }
  void leave_loupe() { tell({StepCall::Kind::leave_loupe}); }
  /// How many steps have begun, on the thread of the last.
  uint64_t steps_begun() const { return steps_begun_; }
  /// Whether what the step holds is measured, too.
  bool measures_memory() const { return wish_.memory; }
  /// The layer whose forward is on, or -1.
  int open_layer() const { return open_.empty() ? -1 : open_.back(); }
  /// When the backward pass begins, on whichever thread it does. @param bytes  of layer -1 and of each of the others
  void set_kept(std::vector<double> bytes) {
    kept_ = std::move(bytes);
    has_kept_ = true;
  }
  bool has_kept() const { return has_kept_; }
  void add_optimizer_state(double bytes) { optimizer_state_ += bytes; }
  bool is_in_loupe() const { return account_.split().is_in_loupe(); }

  // What another thread does of a timed step: a device's nodes run on one of autograd's own. What the processor does
  // there is only known to be a part of the backward pass.
  /// Whether there is such a step.
  static bool is_on() { return thread_.load(std::memory_order_acquire) != nullptr; }
  void enter_node_elsewhere(int64_t number, const char* name);
  void leave_node_elsewhere();
  /// Whether the calling thread is in such a node, of the device's.
  static bool is_elsewhere() { return nodes_elsewhere_ > 0; }
  void tell_elsewhere(StepCall call);

 private:
  StepTimer() = default;
  void enter(int layer, bool trains, int64_t made);
  void begin_nodes(int64_t number, int layer);
  int layer_of_node(int64_t number);
  void tell(StepCall call);
  struct Over {
    TimedStep step;
    std::vector<int> numbers;  // of the step's layers, ascending: one module may be of several models
    std::shared_ptr<DeviceMarks> device;
    bool traced = false;
  };
  Over finish(double now);
  static void note_times(Over& over, StepAccount& account);
  static void tell_device(Over& over);
  bool begins_here();
  void begin(double now, std::shared_ptr<DeviceMarks> device);

  static inline std::atomic<const void*> thread_{nullptr};
  static inline std::atomic<bool> busy_{false};  // a step is asked for, on, or waits to be taken
  static inline thread_local constinit char this_thread_ = 0;
  static inline thread_local constinit int nodes_elsewhere_ = 0;

  ProcessMutex mutex_;  // over the next nine; the thread that is timed, which sets the last, reads that without
  const void* monitor_ = nullptr;
  enum class State { idle, asked, on } state_ = State::idle;
  bool goes_on_ = false;  // with another step
  bool dropped_ = false, closes_ = false;
  uint64_t number_ = 0;  // as it was closed
  Wish asked_for_;
  std::deque<Over> done_;
  std::shared_ptr<DeviceMarks> device_;  // of the step that is on

  StepAccount account_;
  std::unordered_map<const void*, int> numbers_;
  std::vector<Nodes> layers_;
  std::vector<int> open_;                        // layers whose forwards are on
  std::vector<std::pair<int64_t, int>> makers_;  // which layer made nodes from which number on, ascending
  int last_layer_ = -1;
  Wish wish_;
  double begun_ = 0;
  uint64_t steps_begun_ = 0;
  std::vector<double> kept_;
  std::atomic<bool> has_kept_{false};
  double optimizer_state_ = 0;
};

/// Loupe's own work, while it lives.
class LoupeTime {
 public:
  LoupeTime() {
    if (timer_ != nullptr) {
      timer_->enter_loupe();
    } else if (is_elsewhere_) {
      StepTimer::instance().tell_elsewhere({StepCall::Kind::enter_loupe});
    }
  }
  ~LoupeTime() {
    if (timer_ != nullptr) {
      if (StepTimer::here() != nullptr) timer_->leave_loupe();
    } else if (is_elsewhere_) {
      StepTimer::instance().tell_elsewhere({StepCall::Kind::leave_loupe});
    }
  }
  LoupeTime(const LoupeTime&) = delete;
  LoupeTime& operator=(const LoupeTime&) = delete;

 private:
  StepTimer* timer_ = StepTimer::here();
  bool is_elsewhere_ = StepTimer::is_elsewhere();
};

}  // namespace loupe
