#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "pipeline/module_node.h"

namespace loupe {

/// Tells the user that a tensor somebody watches cannot be measured, with the reason and what to do about it: once for
/// each element type, layout and device since the last attach. For tensors whose TorchTensorView is not readable; an
/// undefined one is no news. Any thread, without a lock where it was told already.
/// @param of  where the tensor came from, such as "the outputs"
void tell_unreadable(const at::Tensor& tensor, const char* of, const ModuleNode& module);
/// The same for the tensor of a stream's own event.
void tell_unreadable(const at::Tensor& tensor, const Stream& stream);

/// What was told may be told again: another model is attached.
void forget_told_unreadable();

}  // namespace loupe
