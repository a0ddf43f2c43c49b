#pragma once

#include <torch/nn/module.h>

#include <string>

#include "torch/model/module_types.h"

namespace loupe {

/// Tensors that an optimizer holds and no module does, as a model that can be attached. It has no forward.
struct BareModel : torch::nn::Module, KnowsItsReach {
  BareModel() : torch::nn::Module("Parameters") {
    reach.has_no_forward = true;
    reach.reason = "it has no forward";
  }
  void take(const at::Tensor& parameter) {
    register_parameter("tensor" + std::to_string(parameters(/*recurse=*/false).size() + 1), parameter,
                       parameter.requires_grad());
  }
};

}  // namespace loupe
