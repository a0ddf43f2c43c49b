#ifndef LOUPE_RUN_LOSS_TAPS_H
#define LOUPE_RUN_LOSS_TAPS_H

#include "torch/tensor/compat.h"

namespace loupe {

/// Who is told of losses. On the program's threads; neither throws.
struct LossListener {
  /// Before a backward pass from a tensor of one element; `place` is the call's, only to compare with.
  void (*before_backward)(const at::Tensor& loss, const void* place);
  /// A loss function gave one number outside of any graph. It is what a mean over the batch would be.
  void (*evaluated)(const at::Tensor& loss, const void* place);
};

/// Declares the calls that losses come from to the redirections: backward, and LibTorch's loss functions. Once, after
/// the other taps and before the first hold.
void declare_loss_taps(const LossListener& listener);

}  // namespace loupe

#endif
