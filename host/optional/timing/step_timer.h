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
#include "core/work.h"
#include "pipeline/module_node.h"
#include "timing/device_clock.h"
#include "timing/step_split.h"

namespace loupe {

/// One timed step.
struct TimedStep {
  uint64_t number = 0;  ///< its number in the run
  double seconds = 0;
  double parts[step_parts] = {};
  struct Layer {
    std::weak_ptr<ModuleNode> node;
    StepSplit::Layer time;
    double kept = 0;  ///< bytes that its forward allocated and that were alive when the backward pass began
  };
  std::vector<Layer> layers;
  using Span = StepAccount::Span;
  /// The spans in seconds of the steady clock; only in a traced step. A layer is an index into `layers`.
  std::vector<Span> spans;
  double begin = 0;
  bool has_memory = false;  ///< `kept` and the next two, in bytes
  double kept_outside = 0, optimizer_state = 0;
  /// The times are those of a device's queue, beginning with the step on the host. False for the host's times, even if
  /// the work is on a device.
  bool on_device = false;
};

/// Times single steps of one monitor at a time, on the thread that takes them, and listens meanwhile.
class StepTimer final : public WorkListener {
 public:
  static StepTimer& instance();
  /// The timer if the calling thread is within a timed step; else null.
  static StepTimer* here() {
    const void* const thread = thread_.load(std::memory_order_relaxed);
    return thread != nullptr && thread == &this_thread_ ? &instance() : nullptr;
  }

  // Calls for monitors. Any thread.
  /// Measurements in addition to the times.
  struct Extras {
    bool memory = false, trace = false;
  };
  /// Requests timing of the monitor's next step; ignored while another monitor's is timed.
  void request(const void* monitor, Extras extras);
  /// Ends the current step with the next call of step_over, as the step of that number.
  void close(const void* monitor, uint64_t number);
  /// The next finished step; on a device, only once the device has finished it, too.
  std::optional<TimedStep> take(const void* monitor);
  /// Discards the current measurement (a tick interrupts it, or the monitor ends). Returns whether one was requested.
  /// @param ends  the monitor will take no more steps
  bool drop(const void* monitor, bool ends = false);

  /// Call after a step and all of Loupe's work for it, on the thread that took it: ends the timed step, and begins the
  /// requested one. Returns whether the next step is timed.
  /// @param clock_of_device  creates the clock of the next step's device, or null; called if a step begins
  bool step_over(const std::function<std::unique_ptr<DeviceClock>()>& clock_of_device = nullptr);

  // The activities in a timed step.
  bool is_here() const override { return here() != nullptr; }
  bool enter_loupe() override;
  void leave_loupe() override;
  void enter_optimizer() override;
  void leave_optimizer() override;
  bool enter_forward(const void* module, bool trains, int64_t made, const std::function<Nodes()>& nodes) override;
  void leave_forward(int64_t made) override;
  // Call these only on the thread of the step.
  /// @param number  autograd's, of the node; nodes that accumulate a parameter's gradient have a negative one, and
  /// belong to the layer of the previous node
  void enter_node(int64_t number, const char* name);
  void leave_node() { tell({StepCall::Kind::leave_node}); }
  /// The number of steps begun; on the thread of the last.
  uint64_t steps_begun() const { return steps_begun_; }
  /// Whether memory is measured, too.
  bool measures_memory() const { return extras_.memory; }
  /// The layer whose forward is active, or -1.
  int open_layer() const { return open_.empty() ? -1 : open_.back(); }
  /// Call when the backward pass begins, on its thread. @param bytes  of layer -1 and of each other one
  void set_kept(std::vector<double> bytes) {
    kept_ = std::move(bytes);
    has_kept_ = true;
  }
  bool has_kept() const { return has_kept_; }
  void add_optimizer_state(double bytes) { optimizer_state_ += bytes; }
  bool is_in_loupe() const { return account_.split().is_in_loupe(); }

  // Activities of a timed step on another thread: autograd runs a device's nodes on its own. CPU time there counts as
  // backward pass.
  /// Whether a step is timed.
  static bool is_on() { return thread_.load(std::memory_order_acquire) != nullptr; }
  void enter_node_elsewhere(int64_t number, const char* name);
  void leave_node_elsewhere();

 private:
  StepTimer() = default;
  ~StepTimer() = default;
  /// Whether the calling thread is in such a node of the device.
  static bool is_elsewhere() { return nodes_elsewhere_ > 0; }
  void tell_elsewhere(StepCall call);
  void begin_nodes(int64_t number, int layer);
  int layer_of_node(int64_t number);
  void tell(StepCall call);
  struct FinishedStep {
    TimedStep step;
    std::vector<int> numbers;  // ascending numbers of the step's layers; a module may be in several models
    std::shared_ptr<DeviceMarks> device;
    bool traced = false;
  };
  FinishedStep finish(double now);
  static void note_times(FinishedStep& finished, StepAccount& account);
  static void tell_device(FinishedStep& finished);
  bool begins_here();
  void begin(double now, std::shared_ptr<DeviceMarks> device);

  static inline std::atomic<const void*> thread_{nullptr};
  static inline std::atomic<bool> busy_{false};  // a step is requested, timed, or waits to be taken
  static inline thread_local constinit char this_thread_ = 0;
  static inline thread_local constinit int nodes_elsewhere_ = 0;

  ProcessMutex mutex_;  // guards the next nine; the timed thread, which sets the last, reads it without the lock
  const void* monitor_ = nullptr;
  enum class State { idle, asked, on } state_ = State::idle;
  bool goes_on_ = false;  // another step follows
  bool dropped_ = false, closes_ = false;
  uint64_t number_ = 0;  // the number of the step that was closed
  Extras requested_;
  std::deque<FinishedStep> done_;
  std::shared_ptr<DeviceMarks> device_;  // the marks of the current step

  StepAccount account_;
  std::unordered_map<const void*, int> numbers_;
  std::vector<Nodes> layers_;
  std::vector<int> open_;                        // layers whose forwards are active
  int64_t made_before_ = 0;                      // the nodes made before the outermost of them
  std::vector<std::pair<int64_t, int>> makers_;  // first node numbers and their layers, ascending
  int last_layer_ = -1;
  Extras extras_;
  double begun_ = 0;
  uint64_t steps_begun_ = 0;
  std::vector<double> kept_;
  std::atomic<bool> has_kept_{false};
  double optimizer_state_ = 0;
};

}  // namespace loupe
