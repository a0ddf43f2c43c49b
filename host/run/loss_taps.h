#pragma once

#include "torch/taps/loss_function_taps.h"
#include "torch/tensor/compat.h"

namespace loupe {

/// Who is told of losses. On the program's threads; none throws.
struct LossListener {
  /// Before a backward pass from a tensor of one element; `place` is the call's, only to compare with.
  void (*before_backward)(const at::Tensor& loss, const void* place);
  void (*after_backward)();
  LossFunctionListener functions;
};

/// Declares the calls that losses come from to the redirections: backward, and LibTorch's loss functions. Once, after
/// the other taps and before the first hold.
void declare_loss_taps(const LossListener& listener);

}  // namespace loupe
