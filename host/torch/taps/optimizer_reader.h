#pragma once

#include <loupe/draft/abi/tensor_math.h>

#include <string>
#include <vector>

#include "pipeline/optimizer_facts.h"
#include "torch/tensor/compat.h"

namespace torch::optim {
class Optimizer;
}

namespace loupe {

/// "Adam"; "optimizer" for a type that is not LibTorch's own.
std::string optimizer_type(const torch::optim::Optimizer& optimizer);

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

/// LOUPE_DRAFT_OPTIMIZER_STATES_ID. The table lives for good.
const loupe_draft_optimizer_state_service& optimizer_state_service();

/// LOUPE_DRAFT_OPTIMIZER_DEFAULTS_ID. The table lives for good.
const loupe_draft_optimizer_defaults_service& optimizer_defaults_service();

/// Bytes of the tensors that an optimizer of LibTorch's keeps; those of other types are not known.
double state_bytes(const torch::optim::Optimizer& optimizer);

}  // namespace loupe
