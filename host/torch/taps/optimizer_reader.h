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

/// Reads the current settings of the optimizer's groups into the caller's vector, which keeps its memory between steps.
void read_groups(const torch::optim::Optimizer& optimizer, std::vector<GroupFacts>& groups);

/// Lends this optimizer's states to calls on this thread while it lives. The end of an optimizer cannot be seen, but it
/// exists while its step is reported.
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
