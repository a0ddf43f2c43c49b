#pragma once

#include "core/locks.h"
#include "torch/tensor/compat.h"

namespace loupe {

/// A hash of 32 values of a tensor, evenly spaced from the first to the last: shows cheaply whether a
/// parameter was changed, also without LibTorch's knowledge. 0 for a tensor without plain values in the processor's
/// memory.
uint64_t sample_hash(const at::Tensor& tensor);
/// Whether those values are all zero; false where they cannot be read.
bool is_zero_in_sample(const at::Tensor& tensor);

/// Of one parameter: whether the gradient that a step uses still holds the one that the step before used, because
/// nobody cleared it in between. Gradients summed up between two steps do not count, nor those that were cleared late
/// but before the step's own backward. Also keeps whether it was clipped before that. Any thread.
class KeptGradient {
 public:
  /// @param gradient  what is there before a backward pass adds to it; may be undefined
  void before_sum(const at::Tensor& gradient);
  /// @param gradient  what is there afterwards
  void after_sum(const at::Tensor& gradient);
  /// A clip found it to be all 0 before this backward pass.
  void clipped_early(const at::Tensor& gradient);
  struct Step {
    bool not_cleared;    ///< its gradient still held that of the step before
    bool clipped_early;  ///< in one of its backward passes
  };
  /// Counts from this step on.
  Step at_step(const at::Tensor& gradient);
  /// Forgets what the gradient holds, as steps went by unseen.
  void forget();

 private:
  void remember(const at::Tensor& gradient);

  LeafMutex mutex_;
  const c10::TensorImpl* gradient_ = nullptr;  // only to compare with
  uint32_t version_ = 0;
  bool holds_used_ = false;    // a step used what is in it, and it was not cleared since
  bool was_added_to_ = false;  // while it did
  bool clipped_early_ = false;
};

}  // namespace loupe
