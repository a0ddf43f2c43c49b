#pragma once

#include "torch/taps/function_taps.h"
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

/// Who is told of what programs do as an epoch begins or ends. On the program's threads; neither throws.
struct EpochListener {
  /// Before the sampler of a data loader begins anew, or the program draws a random order. `order` is only to compare
  /// with.
  void (*order_begins)(const void* order, bool is_loader);
  /// Before a scheduler of learning rates steps.
  void (*scheduled)();
};

/// Declares those calls to the redirections: once, before the first hold.
void declare_epoch_taps(const EpochListener& listener);

}  // namespace loupe
