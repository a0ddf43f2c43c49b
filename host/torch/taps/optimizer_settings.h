#pragma once

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

}  // namespace loupe
