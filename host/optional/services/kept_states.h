#pragma once

#include <ATen/core/Tensor.h>  // FunctionRef.h of LibTorch 1.13 needs its includes
#include <c10/util/FunctionRef.h>

#include <string>

namespace torch::optim {
class OptimizerParamState;
}

namespace loupe {

/// Receives the name of each tensor that an optimizer of LibTorch keeps for a parameter, and the tensor.
using TakeState = c10::function_ref<void(const std::string& name, const at::Tensor& tensor)>;
void each_state(const torch::optim::OptimizerParamState& state, TakeState take);

}  // namespace loupe
