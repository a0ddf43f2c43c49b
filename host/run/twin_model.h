#pragma once

#include <optional>
#include <string>
#include <vector>

#include "loupe/inspector.h"
#include "run/loss_makers.h"

namespace loupe {

bool has_any_gradient(const torch::optim::Optimizer& optimizer);

/// What is wrong where the optimizer holds one instance of a model and another one runs: of none of its parameters
/// there is a gradient, and the loss depends on as many others of the same shapes.
/// @param leaves  the parameters that the last loss depends on  @param model  what the optimizer's model is called
std::optional<Finding> finding_of_twin(const torch::optim::Optimizer& optimizer, const std::vector<LossLeaf>& leaves,
                                       const std::string& model);

}  // namespace loupe
