#pragma once

#include <ATen/core/Tensor.h>

#include "pipeline/module_node.h"
#include "torch/tensor/tensor_view.h"

namespace loupe {

/// Warns that a watched tensor cannot be measured, with the reason and the remedy: once for each element type, layout
/// and device since the last attach. For tensors whose TorchTensorView is not readable; skips undefined ones. Any
/// thread; takes no lock if it was reported already.
/// @param of  the origin of the tensor, such as "the outputs"
void tell_unreadable(const at::Tensor& tensor, const char* of, const ModuleNode& module);
/// The same for the tensor of a stream's own event.
void tell_unreadable(const at::Tensor& tensor, const Stream& stream);

/// Allows repeated reports, after another model is attached.
void forget_told_unreadable();

constexpr uint32_t training_flags = LOUPE_EVENT_TRAINING | LOUPE_EVENT_GRAD_ENABLED;

/// Passes a tensor to a stream if it has a subscriber and the tensor can be read; else warns the user once.
inline void dispatch_tensor(Stream* stream, const at::Tensor& tensor, uint32_t flags) {
  if (stream == nullptr || stream->resting() || !tensor.defined()) return;
  const TorchTensorView view(tensor);
  if (view.readable()) {
    stream->dispatch(view.get(), flags | view.flags());
  } else {
    tell_unreadable(tensor, *stream);
  }
}

}  // namespace loupe
