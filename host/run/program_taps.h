#pragma once

#include "torch/taps/function_taps.h"
#include "torch/tensor/compat.h"

namespace loupe {

/// Receives losses, on the program's threads. Functions must not throw.
struct LossListener {
  /// Before a backward pass from a tensor of one element; `place` is the call's, only to compare with.
  void (*before_backward)(const at::Tensor& loss, const void* place);
  void (*after_backward)();
  LossFunctionListener functions;
};

/// Declares the calls that losses come from to the redirections: backward, and LibTorch's loss functions. Once, after
/// the other taps and before the first hold.
void declare_loss_taps(const LossListener& listener);

/// Receives what programs do as an epoch begins or ends, on their threads. Functions must not throw.
struct EpochListener {
  /// Before the sampler of a data loader starts again, or the program draws a random order. `order` is only to compare
  /// with.
  void (*order_begins)(const void* order, bool is_loader);
  /// Before a scheduler of learning rates steps.
  void (*scheduled)();
};

/// Declares those calls to the redirections: once, before the first hold.
void declare_epoch_taps(const EpochListener& listener);

}  // namespace loupe
