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
/// what they change, or reported by the trainer. Under the inspector's mutex, except holds_any.
class OptimizerSteps {
 public:
  using Points = std::vector<std::shared_ptr<TapPoint>>;

  /// @param points  the model's, which the attachment keeps
  OptimizerSteps(const Points& points, const LayerNames& names) : points_(points), names_(names) {}

  /// Learns which parameters there are; again when some were replaced.
  void learn_parameters();
  /// Whether the optimizer holds any of them. Any thread.
  bool holds_any(const torch::optim::Optimizer& optimizer) const;

  /// Whether it holds any, or was attached with the model all the same. Any thread.
  bool concerns(const torch::optim::Optimizer& optimizer) const;

  /// An optimizer that the trainer attached. Warns if it holds none of the parameters.
  /// @param seen  its steps are seen by taps
  void attach(torch::optim::Optimizer& optimizer, bool seen);
  /// An optimizer that was seen at work on them. Any holder of a parameter counts, of any type.
  void meet(torch::optim::Optimizer& optimizer, bool seen);
  /// The model is detached.
  void forget();
  bool any() const { return !holders_.empty(); }

  /// Around a step that taps see.
  void before(torch::optim::Optimizer& optimizer);
  void after(torch::optim::Optimizer& optimizer);
  /// Skips a step.
  void pass_by() { passed_by_ = true; }
  /// Call around a step that is not looked at: they keep up with what the optimizer is set to and holds.
  void before_passing(torch::optim::Optimizer& optimizer) { read(optimizer, slot_of(optimizer)); }
  void after_passing(torch::optim::Optimizer& optimizer);
  /// Whether the optimizer's steps are those of the run's clock: the first attached one's, or of one in its place,
  /// which holds some of the same parameters.
  bool counts(const torch::optim::Optimizer& optimizer);
  /// The same for whichever stepped last.
  bool latest_counts() const { return holders_.empty() || (latest_ & counting_) != 0; }
  /// Counts a step reported by the trainer, for parameters that no tap saw change.
  void by_hand();
  /// Steps that no tap saw, of optimizers of types that may: true if there was one.
  bool notice_unseen();

  /// The optimizer of the latest of these steps, as it was before it; null where several may have stepped.
  const loupe_optimizer* latest() const;
  /// Adds all of them, each as it was before its last step.
  void list(std::vector<const loupe_optimizer*>& all) const;

  /// From these values on changes are counted.
  void prime();
  /// At a tick, before anything is shown: warns, once each, of parameters that changed unseen and that no optimizer
  /// holds.
  void check_at_tick();

 private:
  struct Unknown {
    uint64_t tensors = 0;
    int64_t elements = 0;
  };
  struct Holder {
    const torch::optim::Optimizer* optimizer;  // only to compare with
    uint64_t fingerprint;                      // of what it holds
    uint64_t generation;                       // of all attached models' parameters, when it was marked
    std::unique_ptr<OptimizerFacts> facts;
    std::unordered_set<const c10::TensorImpl*> held;            // other models' parameters too
    std::vector<Unknown> unknown;                               // of each group, what no attached model has
    std::vector<std::vector<loupe_held_parameter>> parameters;  // of each group, what this model has
    bool has_state;                                             // after its last step
    uint64_t values;                                            // of some of them, as they were looked at last
    /// Whether it is the one that stepped last at this address: another begins without its state.
    bool is(const torch::optim::Optimizer& other) const;
  };
  /// Whether all that it holds was replaced in the model; false of one that the trainer attached itself.
  bool is_left(const Holder& holder) const;
  std::size_t slot_of(const torch::optim::Optimizer& optimizer);
  /// The slot of one that holds what another one held: that one's, unless it steps again after it lost its own, since
  /// then both are there.
  std::size_t slot_beside(std::size_t slot, const torch::optim::Optimizer& optimizer);
  /// Of one that was seen before its step: without another look at what it holds.
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
  std::vector<Holder> holders_;   // 64 at most; one that came later takes the place of an old one
  std::deque<Holder> displaced_;  // the last few that another one took the place of
  std::size_t next_reused_ = 0;
  std::vector<GroupFacts> groups_;  // to fill at each step
  uint64_t latest_ = 0;             // a bit for each that may have stepped last
  uint64_t counting_ = 1;           // those whose steps are the clock's
  bool passed_by_ = false;          // since the last tick
  bool has_stepped_ = false;        // where a tap saw it
  uint64_t unseen_ = 0;             // those whose steps taps may miss
  bool told_of_changes_ = false, told_of_uncovered_ = false;
};

}  // namespace loupe
