#pragma once

#include "core/locks.h"
#include "torch/tensor/compat.h"

namespace loupe {

/// A hash of 32 values of a tensor, evenly spaced from the first to the last: shows cheaply whether a parameter has
/// changed, even if LibTorch does not know. 0 for a tensor without plain values in the processor's memory.
uint64_t sample_hash(const at::Tensor& tensor);

/// For one parameter: whether the gradient that a step uses still contains that of the previous step, because nobody
/// cleared it in between. Gradients accumulated between two steps do not count, nor those cleared late but before the
/// step's own backward. Also notes whether it was clipped before that. Any thread.
class KeptGradient {
 public:
  /// @param gradient  the gradient before a backward pass adds to it; may be undefined
  void before_sum(const at::Tensor& gradient);
  /// @param gradient  the gradient afterwards
  void after_sum(const at::Tensor& gradient);
  /// A clip found it all 0 before this backward pass.
  void clipped_early(const at::Tensor& gradient);
  struct Step {
    bool not_cleared;    ///< its gradient still contained that of the previous step
    bool clipped_early;  ///< a clip found it all 0 before one of its backward passes
  };
  /// Ends the step and returns its state.
  Step at_step(const at::Tensor& gradient);
  /// Forgets the gradient's state, because steps were not seen.
  void forget();

 private:
  void remember(const at::Tensor& gradient);

  LeafMutex mutex_;
  const c10::TensorImpl* gradient_ = nullptr;  // only to compare with
  uint32_t version_ = 0;
  bool holds_used_ = false;    // a step used it, and it was not cleared since
  bool was_added_to_ = false;  // a backward pass added to it since that step
  bool clipped_early_ = false;
};

}  // namespace loupe
