#ifndef LOUPE_TORCH_TAPS_LOSS_FUNCTION_TAPS_H
#define LOUPE_TORCH_TAPS_LOSS_FUNCTION_TAPS_H

#include <ATen/core/Tensor.h>

namespace loupe {

/// Told what a loss function gave without gradients, as a mean of the batch, and the place of its call.
using LossEvaluated = void (*)(const at::Tensor& loss, const void* place);

/// Declares the taps of LibTorch's loss functions, which show what each is given to the model that ran last.
void declare_loss_function_taps();

/// Also tells of results. Before the taps are held, and for good.
void set_loss_evaluated(LossEvaluated told);

}  // namespace loupe

#endif
