#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_set>
#include <vector>

#include "pipeline/optimizer_facts.h"
#include "torch/model/point_maker.h"
#include "torch/model/tap_point.h"

namespace torch::optim {
class Optimizer;
}

namespace loupe {

/// The optimizers that hold parameters of one attached model, and the steps that they take: seen by taps, noticed by
/// changed parameters, or reported by the trainer. Under the inspector's mutex, except holds_any.
class OptimizerSteps {
 public:
  using Points = std::vector<std::shared_ptr<TapPoint>>;

  /// @param points  the model's, which the attachment keeps
  OptimizerSteps(const Points& points, const LayerNames& names) : points_(points), names_(names) {}

  /// Learns the model's parameters; call it again after some were replaced.
  void learn_parameters();
  /// Whether the optimizer holds any of them. Any thread.
  bool holds_any(const torch::optim::Optimizer& optimizer) const;

  /// Whether it holds parameters of the model, or was attached with it explicitly. Any thread.
  bool concerns(const torch::optim::Optimizer& optimizer) const;

  /// An optimizer that the trainer attached. Warns if it holds none of the parameters.
  /// @param seen  taps see its steps
  void attach(torch::optim::Optimizer& optimizer, bool seen);
  /// Adds an optimizer of any type that was seen to use parameters of the model.
  void meet(torch::optim::Optimizer& optimizer, bool seen);
  /// The model is detached.
  void forget();
  bool any() const { return !holders_.empty(); }

  /// Called around a step that taps see.
  void before(torch::optim::Optimizer& optimizer);
  void after(torch::optim::Optimizer& optimizer);
  /// Skips a step.
  void pass_by() { passed_by_ = true; }
  /// Call around an unmeasured step: updates the optimizer's settings and parameters.
  void before_passing(torch::optim::Optimizer& optimizer) { read(optimizer, slot_of(optimizer)); }
  void after_passing(torch::optim::Optimizer& optimizer);
  /// Whether the optimizer's steps are the run's clock: it is the first attached one, or replaces it with some of the
  /// same parameters.
  bool counts(const torch::optim::Optimizer& optimizer);
  /// The same for the one that stepped last.
  bool latest_counts() const { return holders_.empty() || (latest_ & counting_) != 0; }
  /// Counts a step reported by the trainer, for parameters that no tap saw change.
  void by_hand();
  /// Detects steps that no tap saw, of optimizers whose types allow this: true if there was one.
  bool notice_unseen();

  /// The optimizer of the latest step, in its state before it; null if several may have stepped.
  const loupe_optimizer* latest() const;
  /// Adds all optimizers, each in its state before its last step.
  void list(std::vector<const loupe_optimizer*>& all) const;

  /// Counts changes from the current values on.
  void prime();
  /// Call it at a tick, before anything is shown: warns, once each, of parameters that changed unseen or that no
  /// optimizer holds.
  void check_at_tick();

 private:
  struct Unknown {
    uint64_t tensors = 0;
    int64_t elements = 0;
  };
  struct Holder {
    const torch::optim::Optimizer* optimizer;  // only to compare with
    uint64_t fingerprint;                      // fingerprint of its parameters
    uint64_t generation;                       // generation of all attached models' parameters when it was marked
    std::unique_ptr<OptimizerFacts> facts;
    std::unordered_set<const c10::TensorImpl*> held;            // its parameters, including those of other models
    std::vector<Unknown> unknown;                               // tensors of no attached model, for each group
    std::vector<std::vector<loupe_held_parameter>> parameters;  // parameters of this model, for each group
    bool has_state;                                             // it had state after its last step
    uint64_t values;                                            // hash of some of them at the last check
    /// Whether it is the one that last stepped at this address: a new one begins without state.
    bool is(const torch::optim::Optimizer& other) const;
  };
  /// Whether all its parameters were replaced in the model; false for one attached by the trainer.
  bool is_left(const Holder& holder) const;
  std::size_t slot_of(const torch::optim::Optimizer& optimizer);
  /// The slot of an optimizer with another one's parameters: that one's, unless it steps again after losing its slot,
  /// which shows that both exist.
  std::size_t slot_beside(std::size_t slot, const torch::optim::Optimizer& optimizer);
  /// The slot of an optimizer seen before its step, without reading its parameters again.
  std::size_t known_slot_of(const torch::optim::Optimizer& optimizer);
  void read(const torch::optim::Optimizer& optimizer, std::size_t slot);
  void mark(const torch::optim::Optimizer& optimizer, std::size_t slot);
  void stepped(uint64_t holders);
  template <class Call>
  void each_parameter(Call&& call);
  uint64_t changed_in_value();
  void tell_of_unseen_changes();
  void tell_of_uncovered();

  const Points& points_;
  const LayerNames& names_;
  mutable LeafMutex parameters_mutex_;
  std::unordered_set<const c10::TensorImpl*> parameters_;
  std::unordered_set<const torch::optim::Optimizer*> attached_;  // only to compare with
  std::vector<Holder> holders_;                                  // at most 64; a later one replaces an old one
  std::deque<Holder> displaced_;                                 // the last few replaced ones
  std::size_t next_reused_ = 0;
  std::vector<GroupFacts> groups_;  // filled at each step
  uint64_t latest_ = 0;             // a bit for each that may have stepped last
  uint64_t counting_ = 1;           // bits of the optimizers whose steps are the clock
  bool passed_by_ = false;          // a step was skipped since the last tick
  bool has_stepped_ = false;        // a tap saw a step
  uint64_t unseen_ = 0;             // bits of the optimizers whose steps taps may miss
  bool told_of_changes_ = false, told_of_uncovered_ = false;
};

}  // namespace loupe
