#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace loupe {

/// The parts of a training step's wall time.
enum class StepPart {
  waiting,    ///< from the end of a step, or of a backward pass, to the next forward that trains: waiting for data;
              ///< after a backward pass on average no longer than before the step's first forward
  forward,    ///< from the first module that trains to the end of the last before the backward pass
  backward,   ///< the loss and the backward pass
  optimizer,  ///< optimizers' steps
  other,      ///< the time between the other parts: clipping, evaluation, acting
  loupe,      ///< Loupe's own work
};
constexpr std::size_t step_parts = 6;
/// "waiting", "forward", ….
const char* name_of(StepPart part);

/// Splits one step's wall time into parts that add up to it, and into the time of each layer without the layers inside
/// it. Has no clock: each call passes its time in seconds. One thread, except note_elsewhere.
class StepSplit {
 public:
  struct Layer {
    double forward = 0, backward = 0;  ///< seconds
    unsigned calls = 0;                ///< forwards that train
  };

  void begin(double now);
  /// @param layer  its number from 0, or -1  @param trains  also for the forwards inside it
  void enter_forward(int layer, bool trains, double now);
  /// @param has_graph  the forward made nodes of the graph
  void leave_forward(double now, bool has_graph = false);
  /// A node of the graph runs backward. @param layer  the layer that made it, or -1
  void enter_node(int layer, double now);
  void leave_node(double now);
  void enter_optimizer(double now);
  void leave_optimizer(double now);
  /// These may nest.
  void enter_loupe(double now);
  void leave_loupe(double now);
  /// Another thread ran a node of the graph until then. Any thread.
  void note_elsewhere(double now) { elsewhere_.store(now, std::memory_order_relaxed); }
  /// The step has ended. Returns its duration.
  double end(double now);

  bool is_in_loupe() const { return loupe_ > 0; }
  double of(StepPart part) const { return parts_[static_cast<std::size_t>(part)]; }
  /// The layers seen so far.
  const std::vector<Layer>& layers() const { return layers_; }

 private:
  struct Frame {
    int layer;
    bool is_node, trains;
  };
  /// The part before the current gap.
  enum class Before { start, forward, evaluation, backward, optimizer };

  double& part(StepPart which) { return parts_[static_cast<std::size_t>(which)]; }
  void pass(double now);
  void claim(StepPart by);
  void count_evaluation();
  Layer& layer(int number);

  std::array<double, step_parts> parts_{};
  std::vector<Layer> layers_;
  std::vector<Frame> frames_;
  Before before_ = Before::start;
  int loupe_ = 0, optimizers_ = 0;
  double begun_ = 0, last_ = 0;
  double gap_ = 0;  // seconds since the last call of the step
  // Seconds in `other` that may be the step's forward: of the current forward in eval mode, and of those with a graph.
  double evaluating_ = 0, evaluated_ = 0;
  double first_wait_ = 0;  // seconds
  unsigned waits_ = 0;
  std::atomic<double> elsewhere_{0};
};

/// The begin or end of an activity in a timed step.
struct StepCall {
  enum class Kind {
    enter_forward,
    leave_forward,
    enter_node,
    leave_node,
    enter_optimizer,
    leave_optimizer,
    enter_loupe,
    leave_loupe
  };
  Kind kind;
  int layer = -1;          ///< its number from 0; -1 is none
  bool trains = false;     ///< whether a forward trains
  int64_t number = -1;     ///< the number that autograd gave a node
  bool has_graph = false;  ///< whether the forward that ends made nodes
  bool elsewhere = false;  ///< a node on another thread
  std::string name = {};   ///< the name of a node, if spans are kept
};

/// Accounts for one step call by call: its parts, its layers and, if requested, its spans. One thread, except
/// note_elsewhere.
class StepAccount {
 public:
  /// Nested spans come after the outer one.
  struct Span {
    enum class Kind { forward, backward, optimizer, loupe };
    Kind kind;
    int layer;
    double begin, end;
    std::string name;
  };

  void begin(double now, bool keeps_spans);
  void tell(const StepCall& call, double now);
  /// Returns the duration of the step.
  double end(double now);

  StepSplit& split() { return split_; }
  const StepSplit& split() const { return split_; }
  std::vector<Span>& spans() { return spans_; }

 private:
  void open_span(Span::Kind kind, const StepCall& call, double now);
  void close_span(double now);

  StepSplit split_;
  bool keeps_spans_ = false;
  std::vector<Span> spans_;
  std::vector<std::size_t> open_spans_;
};

}  // namespace loupe
