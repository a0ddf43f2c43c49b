#pragma once

#include <ATen/core/Tensor.h>

namespace loupe {

/// Told of numbers that loss functions give; neither throws. `function` is the operator's name.
struct LossFunctionListener {
  void (*computed)(const at::Tensor& loss, const char* function);  ///< one with a graph
  /// One without, as a mean of the batch; `place` is the call's.
  void (*evaluated)(const at::Tensor& loss, const char* function, const void* place);
};

/// Declares the taps of LibTorch's loss functions, which show what each is given to the model that ran last.
void declare_loss_function_taps();

/// Also tells of results. Before the taps are held, and for good.
void set_loss_function_listener(const LossFunctionListener& told);

}  // namespace loupe
