#ifndef LOUPE_PIPELINE_STEP_TIMER_H
#define LOUPE_PIPELINE_STEP_TIMER_H

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/forks.h"
#include "core/step_split.h"
#include "pipeline/module_node.h"

namespace loupe {

/// One step that was timed.
struct TimedStep {
  double seconds = 0;
  double parts[step_parts] = {};
  struct Layer {
    std::weak_ptr<ModuleNode> node;
    StepSplit::Layer time;
    double kept = 0;  ///< bytes that its forward made and that were there when the backward pass began
  };
  std::vector<Layer> layers;
  /// What ran from when to when, in seconds of the steady clock; in a step that is traced. One that lies within another
  /// comes after it.
  struct Span {
    enum class Kind { forward, backward, optimizer, loupe };
    Kind kind;
    int layer;  ///< of `layers`, or -1
    double begin, end;
    std::string name;  ///< of a node of the graph
  };
  std::vector<Span> spans;
  double begin = 0;
  bool has_memory = false;  ///< `kept` and the next two, in bytes
  double kept_outside = 0, optimizer_state = 0;
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
  /// The step that is on ends with the next call of step_over: one that the monitor counts.
  void close(const void* monitor);
  /// The first of the steps that were asked for and are over.
  std::optional<TimedStep> take(const void* monitor);
  /// The step that is on is none: the monitor ticks in it, or ends. Returns whether one was asked for.
  bool drop(const void* monitor);

  /// Where a step is over and all of Loupe's work after it: the one that is timed ends, and the one that was asked for
  /// begins. On the thread that took the step. Returns whether what comes is timed.
  bool step_over();

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
  void leave_node();
  void enter_optimizer();
  void leave_optimizer();
  void enter_loupe();
  void leave_loupe();
  /// Whether what the step holds is measured, too.
  bool measures_memory() const { return wish_.memory; }
  /// The layer whose forward is on, or -1.
  int open_layer() const { return open_.empty() ? -1 : open_.back(); }
  /// When the backward pass begins. @param bytes  of layer -1 and of each of the others
  void set_kept(std::vector<double> bytes) { kept_ = std::move(bytes); }
  bool has_kept() const { return !kept_.empty(); }
  void add_optimizer_state(double bytes) { optimizer_state_ += bytes; }
  bool is_in_loupe() const { return split_.is_in_loupe(); }
  /// Another thread ran a node of a graph. Any thread.
  static void node_ran_elsewhere();

 private:
  StepTimer() = default;
  void enter(int layer, bool trains, int64_t made);
  void begin_nodes(int64_t number, int layer);
  int layer_of_node(int64_t number);
  TimedStep finish(double now);
  void begin(double now);
  void open_span(TimedStep::Span::Kind kind, int layer, double now, const char* name = "");
  void close_span(double now);

  static inline std::atomic<const void*> thread_{nullptr};
  static inline std::atomic<bool> busy_{false};  // a step is asked for, on, or waits to be taken
  static inline thread_local constinit char this_thread_ = 0;

  ProcessMutex mutex_;  // over the next seven
  const void* monitor_ = nullptr;
  enum class State { idle, asked, on } state_ = State::idle;
  bool goes_on_ = false;  // with another step
  bool dropped_ = false, closes_ = false;
  Wish asked_for_;
  std::deque<TimedStep> done_;

  StepSplit split_;
  std::unordered_map<const void*, int> numbers_;
  std::vector<Nodes> layers_;
  std::vector<int> open_;                        // layers whose forwards are on
  std::vector<std::pair<int64_t, int>> makers_;  // which layer made nodes from which number on, ascending
  int last_layer_ = -1;
  Wish wish_;
  double begun_ = 0;
  std::vector<TimedStep::Span> spans_;
  std::vector<std::size_t> open_spans_;
  std::vector<double> kept_;
  double optimizer_state_ = 0;
};

/// Loupe's own work, while it lives.
class LoupeTime {
 public:
  LoupeTime() {
    if (timer_ != nullptr) timer_->enter_loupe();
  }
  ~LoupeTime() {
    if (timer_ != nullptr && StepTimer::here() != nullptr) timer_->leave_loupe();
  }
  LoupeTime(const LoupeTime&) = delete;
  LoupeTime& operator=(const LoupeTime&) = delete;

 private:
  StepTimer* timer_ = StepTimer::here();
};

}  // namespace loupe

#endif
