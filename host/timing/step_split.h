#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <vector>

namespace loupe {

/// What the wall time of a training step is spent on.
enum class StepPart {
  waiting,    ///< from the end of a step, or of a backward pass, to the next forward that trains: the data
  forward,    ///< from the first module that trains to the end of the last before the backward pass
  backward,   ///< the loss and the backward pass
  optimizer,  ///< optimizers' steps
  other,      ///< what is between the rest: clipping, evaluation, acting
  loupe,      ///< Loupe's own work
};
constexpr std::size_t step_parts = 6;
/// "waiting", "forward", ….
const char* name_of(StepPart part);

/// Splits one step's wall time into parts that add up to it, and into what each layer takes without the layers inside
/// it. Has no clock of its own: each call says when it comes, in seconds. One thread, but for note_elsewhere.
class StepSplit {
 public:
  struct Layer {
    double forward = 0, backward = 0;  ///< seconds
    unsigned calls = 0;                ///< forwards that train
  };

  void begin(double now);
  /// @param layer  its number from 0, or -1  @param trains  taken over by the forwards inside it
  void enter_forward(int layer, bool trains, double now);
  void leave_forward(double now);
  /// A node of the graph runs backward. @param layer  that made it, or -1
  void enter_node(int layer, double now);
  void leave_node(double now);
  void enter_optimizer(double now);
  void leave_optimizer(double now);
  /// These may lie within each other.
  void enter_loupe(double now);
  void leave_loupe(double now);
  /// Another thread ran a node of the graph until then. Any thread.
  void note_elsewhere(double now) { elsewhere_.store(now, std::memory_order_relaxed); }
  /// The step is over. Returns how long it took.
  double end(double now);

  bool is_in_loupe() const { return loupe_ > 0; }
  double of(StepPart part) const { return parts_[static_cast<std::size_t>(part)]; }
  /// As far as layers have come up.
  const std::vector<Layer>& layers() const { return layers_; }

 private:
  struct Frame {
    int layer;
    bool is_node, trains;
  };
  /// What came before a gap that nobody has claimed yet.
  enum class Before { start, forward, evaluation, backward, optimizer };

  double& part(StepPart which) { return parts_[static_cast<std::size_t>(which)]; }
  void pass(double now);
  void claim(StepPart by);
  Layer& layer(int number);

  std::array<double, step_parts> parts_{};
  std::vector<Layer> layers_;
  std::vector<Frame> frames_;
  Before before_ = Before::start;
  int loupe_ = 0, optimizers_ = 0;
  double begun_ = 0, last_ = 0;
  double gap_ = 0;  // seconds since something of the step ran
  std::atomic<double> elsewhere_{0};
};

}  // namespace loupe
