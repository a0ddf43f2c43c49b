#pragma once

#include "torch/model/tap_point.h"

namespace loupe {

/// Sends the gradient of a tensor that a forward takes or gives to a stream of the point's, once it is known: of each
/// backward pass once, however often the tensor is used. May run on autograd's threads.
void watch_gradient(const at::Tensor& tensor, const ResultPoint& point, Stream& stream, uint32_t flags);

/// Sends the gradients of a point's parameters to their streams, as they are summed up.
void watch_parameters(TapPoint& point);
/// The same after a parameter was replaced by another, whose tap holds the new one already.
void watch_replaced(TapPoint& point, ParameterTap& tap, const at::Tensor& old);
/// Where nothing is redirected: lays the hooks again that a parameter lost when it moved or was thawed.
void keep_hooks(TapPoint& point);

}  // namespace loupe
