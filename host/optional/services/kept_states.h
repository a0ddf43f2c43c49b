#pragma once

#include <ATen/core/Tensor.h>  // FunctionRef.h of LibTorch 1.13 needs what this includes
#include <c10/util/FunctionRef.h>

#include <string>

namespace torch::optim {
class OptimizerParamState;
}

namespace loupe {

/// Calls with the name of each tensor that an optimizer of LibTorch's keeps of a parameter, and with it.
using TakeState = c10::function_ref<void(const std::string& name, const at::Tensor& tensor)>;
void each_state(const torch::optim::OptimizerParamState& state, TakeState take);

}  // namespace loupe
