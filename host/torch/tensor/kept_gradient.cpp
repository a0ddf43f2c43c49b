#include "torch/tensor/kept_gradient.h"

#include "torch/tensor/parameter_sample.h"

namespace loupe {
namespace {

/// Gradients without counted changes are taken as cleared: a doubt is no finding.
bool counts_changes(const at::Tensor& gradient) {
  return gradient.defined() && gradient.layout() == at::kStrided && !gradient.is_inference();
}

}  // namespace

void KeptGradient::remember(const at::Tensor& gradient) {
  gradient_ = counts_changes(gradient) ? gradient.unsafeGetTensorImpl() : nullptr;
  version_ = gradient_ != nullptr ? static_cast<uint32_t>(gradient._version()) : 0;
}

void KeptGradient::before_sum(const at::Tensor& gradient) {
  const std::lock_guard lock(mutex_);
  if (!holds_used_) return;
  const bool same = counts_changes(gradient) && gradient.unsafeGetTensorImpl() == gradient_ &&
                    static_cast<uint32_t>(gradient._version()) == version_;
  if (same && !is_zero_in_sample(gradient)) {
    was_added_to_ = true;
  } else {
    // Set to zero, made anew, or changed on purpose in another way.
    holds_used_ = was_added_to_ = false;
  }
}

void KeptGradient::after_sum(const at::Tensor& gradient) {
  const std::lock_guard lock(mutex_);
  remember(gradient);
}

bool KeptGradient::at_step(const at::Tensor& gradient) {
  const std::lock_guard lock(mutex_);
  const bool held = holds_used_ && was_added_to_;
  remember(gradient);
  holds_used_ = gradient_ != nullptr;
  was_added_to_ = false;
  return held;
}

void KeptGradient::forget() {
  const std::lock_guard lock(mutex_);
  holds_used_ = was_added_to_ = false;
}

}  // namespace loupe
