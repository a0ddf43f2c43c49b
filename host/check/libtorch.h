#pragma once

#include <memory>
#include <string>

#include "torch/tensor/tensor_lending.h"

namespace loupe::check {

/// Loads what lends LibTorch's tensors, where a plugin that was loaded brought LibTorch into this process. Returns why
/// that cannot be; empty where it is done, or is not needed.
std::string load_tensor_lending();

/// Null for plugins without LibTorch.
const TensorLending* tensor_lending();

/// Makes LibTorch's tensor of the view at `place` and refers the view to it; does nothing without LibTorch, or for a
/// type that LibTorch lacks. The tensor keeps `memory`.
void add_native(loupe_tensor& view, void* place, const std::shared_ptr<const void>& memory);
/// Destroys a tensor made by add_native; copies of it stay valid. Null is allowed.
void destroy_native(const void* native);

}  // namespace loupe::check
