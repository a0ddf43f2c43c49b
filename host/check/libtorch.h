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

/// Puts LibTorch's tensor of what the view says at `place`, where there is LibTorch and it has one. It keeps `memory`.
void add_native(loupe_tensor& view, void* place, const std::shared_ptr<const void>& memory);
/// Ends the tensor of such a view, of which copies may live on.
void destroy_native(const void* native);

}  // namespace loupe::check
