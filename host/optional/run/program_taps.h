#pragma once

#include "torch/taps/function_taps.h"
#include "torch/tensor/compat.h"

namespace loupe {

/// Receives a program's use of losses and events around its epochs, on its threads. Functions must not throw.
struct ProgramListener {
  /// Before a backward pass from a tensor of one element; `place` is the address of the call, only to compare with.
  void (*before_backward)(const at::Tensor& loss, const void* place);
  void (*after_backward)();
  /// A loss function gave a result with a graph; `function` is its name.
  void (*computed)(const at::Tensor& loss, const char* function);
  /// The same without a graph, as a mean of the batch; `place` is the address of the call.
  void (*evaluated)(const at::Tensor& loss, const char* function, const void* place);
  /// Before the sampler of a data loader starts again, or the program draws a random order. `order` is only to compare
  /// with.
  void (*order_begins)(const void* order, bool is_loader);
  /// Before a scheduler of learning rates steps.
  void (*scheduled)();
};

/// Declares these calls to the redirections: once, before the first hold.
void declare_program_taps(const ProgramListener& listener);

}  // namespace loupe
