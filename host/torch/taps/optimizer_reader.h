#pragma once

#include <string>
#include <vector>

#include "core/shared.h"
#include "pipeline/optimizer_facts.h"
#include "torch/tensor/compat.h"

namespace torch::optim {
class Optimizer;
}

namespace loupe {

/// "Adam"; "optimizer" for a type that is not LibTorch's own.
LOUPE_SHARED std::string optimizer_type(const torch::optim::Optimizer& optimizer);

/// What each of the optimizer's groups is set to now. Fills the caller's vector, which keeps its memory from one step
/// to the next.
void read_groups(const torch::optim::Optimizer& optimizer, std::vector<GroupFacts>& groups);

/// Lends what this optimizer keeps to calls on this thread while it lives. Nothing shows when an optimizer is
/// destroyed, but while its step is reported it exists.
class SteppedOptimizer {
 public:
  explicit SteppedOptimizer(const torch::optim::Optimizer& optimizer);
  ~SteppedOptimizer();
  SteppedOptimizer(const SteppedOptimizer&) = delete;
  SteppedOptimizer& operator=(const SteppedOptimizer&) = delete;

 private:
  const torch::optim::Optimizer* before_;
};

/// The innermost of these on this thread; null for none.
LOUPE_SHARED const torch::optim::Optimizer* stepped_optimizer();

}  // namespace loupe
