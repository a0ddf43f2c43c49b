#pragma once

#include "core/locks.h"
#include "torch/tensor/compat.h"

namespace loupe {

/// Of one parameter: whether the gradient that a step uses still holds the one that the step before used, because
/// nobody cleared it in between. Gradients that are summed up between two steps are not meant; neither are those that
/// were cleared late, as long as it was before the step's own backward. Any thread.
class KeptGradient {
 public:
  /// @param gradient  what is there before a backward pass adds to it; may be undefined
  void before_sum(const at::Tensor& gradient);
  /// @param gradient  what is there afterwards
  void after_sum(const at::Tensor& gradient);
  /// Whether the gradient of this step still held that of the step before. Counts from this step on.
  bool at_step(const at::Tensor& gradient);
  /// Steps went by unseen: nothing is known of what the gradient holds.
  void forget();

 private:
  void remember(const at::Tensor& gradient);

  LeafMutex mutex_;
  const c10::TensorImpl* gradient_ = nullptr;  // only to compare with
  uint32_t version_ = 0;
  bool holds_used_ = false;    // a step used what is in it, and it was not cleared since
  bool was_added_to_ = false;  // while it did
};

}  // namespace loupe
