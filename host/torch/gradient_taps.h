#ifndef LOUPE_TORCH_GRADIENT_TAPS_H
#define LOUPE_TORCH_GRADIENT_TAPS_H

#include "torch/tap_point.h"

namespace loupe {

/// Sends the gradient of a tensor made in a forward to a stream, once it is known. May run on autograd's threads.
void watch_gradient(const at::Tensor& tensor, const std::shared_ptr<ModuleNode>& node, Stream& stream, uint32_t flags);

/// Lays the hooks on the accumulators of a point's parameters, again where a parameter moved or was thawed since.
void keep_hooks(TapPoint& point);
/// Takes them off.
void remove_hooks(TapPoint& point);

}  // namespace loupe

#endif
