#include "torch/tensor/parameter_changes.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace loupe {
namespace {

/// Calls `call` with the bits of at most 32 elements, spread over the tensor; false if they cannot be read at once.
template <class Call>
bool each_sampled(const at::Tensor& tensor, Call&& call) {
  constexpr int64_t samples = 32;
  const bool readable = tensor.defined() && tensor.layout() == at::kStrided && tensor.device().is_cpu() &&
                        !tensor.is_quantized() && tensor.has_storage() && tensor.numel() > 0;
  if (!readable) return false;
  const auto* data = static_cast<const char*>(const_data(tensor));
  if (data == nullptr) return false;
  const std::size_t size = std::min<std::size_t>(tensor.element_size(), sizeof(uint64_t));
  const int64_t count = std::min(samples, tensor.numel());
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = count == 1 ? 0 : i * (tensor.numel() - 1) / (count - 1), offset = 0;
    for (int64_t d = tensor.dim() - 1; d >= 0; --d) {
      offset += rest % tensor.size(d) * tensor.stride(d);
      rest /= tensor.size(d);
    }
    uint64_t bits = 0;
    std::memcpy(&bits, data + offset * static_cast<int64_t>(tensor.element_size()), size);
    call(bits);
  }
  return true;
}

}  // namespace

uint64_t sample_hash(const at::Tensor& tensor) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, by words
  const bool read = each_sampled(tensor, [&](uint64_t bits) { hash = (hash ^ bits) * 0x100000001b3; });
  return read ? hash : 0;
}

namespace {

/// Whether its sampled values are all zero; false where they cannot be read.
bool is_zero_in_sample(const at::Tensor& tensor) {
  uint64_t any = 0;
  return each_sampled(tensor, [&](uint64_t bits) { any |= bits; }) && any == 0;
}

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
    // It was set to zero, created again, or changed intentionally in another way.
    holds_used_ = was_added_to_ = false;
  }
}

void KeptGradient::after_sum(const at::Tensor& gradient) {
  const std::lock_guard lock(mutex_);
  remember(gradient);
}

void KeptGradient::clipped_early(const at::Tensor&) {
  const std::lock_guard lock(mutex_);
  clipped_early_ = true;
}

KeptGradient::Step KeptGradient::at_step(const at::Tensor& gradient) {
  const std::lock_guard lock(mutex_);
  const Step step = {holds_used_ && was_added_to_, std::exchange(clipped_early_, false)};
  remember(gradient);
  holds_used_ = gradient_ != nullptr;
  was_added_to_ = false;
  return step;
}

void KeptGradient::forget() {
  const std::lock_guard lock(mutex_);
  holds_used_ = was_added_to_ = clipped_early_ = false;
}

}  // namespace loupe
