#pragma once

#include "pipeline/module_node.h"
#include "torch/tensor/tensor_view.h"
#include "torch/tensor/unreadable.h"

namespace loupe {

constexpr uint32_t training_flags = LOUPE_EVENT_TRAINING | LOUPE_EVENT_GRAD_ENABLED;

/// Hands a tensor to a stream, if somebody subscribed to it and there is something to read; tells the
/// user once if there is something that cannot be.
inline void dispatch_tensor(Stream* stream, const at::Tensor& tensor, uint32_t flags) {
  if (stream == nullptr || stream->resting() || !tensor.defined()) return;
  const TorchTensorView view(tensor);
  if (view.readable()) {
    stream->dispatch(view.get(), flags);
  } else {
    tell_unreadable(tensor, *stream);
  }
}

}  // namespace loupe
