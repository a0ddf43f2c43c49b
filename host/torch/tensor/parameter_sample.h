#pragma once

#include "torch/tensor/compat.h"

namespace loupe {

/// A hash of 32 of a tensor's values, evenly spaced from the first to the last: tells at little cost whether an
/// optimizer changed a parameter without LibTorch's knowledge. 0 for what has no plain values in the processor's
/// memory.
uint64_t sample_hash(const at::Tensor& tensor);
/// Whether those values are all zero; false where they cannot be read.
bool is_zero_in_sample(const at::Tensor& tensor);

}  // namespace loupe
