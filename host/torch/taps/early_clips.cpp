#include "torch/taps/early_clips.h"

#include <ATen/Operators.h>

#include <atomic>
#include <cstring>
#include <type_traits>
#include <utility>

#include "torch/model/registry.h"
#include "torch/redirect/redirections.h"

namespace loupe {
namespace {

std::atomic<const void*> clipped_zeros{nullptr};  // address of its elements, only to compare with
std::atomic<bool> clipped_later{false};           // a gradient that was not all 0

/// Reads bytes until one is not zero.
bool is_all_zero(const at::Tensor& tensor) {
  const auto* bytes = static_cast<const char*>(const_data(tensor));
  return bytes != nullptr && *bytes == 0 && std::memcmp(bytes, bytes + 1, tensor.nbytes() - 1) == 0;
}

bool has_plain_bytes(const at::Tensor& tensor) {
  return tensor.defined() && tensor.layout() == at::kStrided && tensor.device().is_cpu() && tensor.has_storage() &&
         tensor.numel() > 0 && tensor.is_contiguous();
}

template <class Operator, class Signature = decltype(&Operator::call)>
struct MultiplicationTap;
template <class Operator, class Factor>
struct MultiplicationTap<Operator, at::Tensor& (*)(at::Tensor&, Factor)> {
  static at::Tensor& tap(at::Tensor& self, Factor factor) {
    bool is_number = true;
    if constexpr (std::is_same_v<std::decay_t<Factor>, at::Tensor>) is_number = factor.dim() == 0;
    if (is_number) note_clipped(self);
    return Operator::call(self, std::forward<Factor>(factor));
  }
  static void declare() { declare_tap(&Operator::call, &tap); }
};

}  // namespace

void declare_clip_taps() {
  MultiplicationTap<at::_ops::mul__Tensor>::declare();
  MultiplicationTap<at::_ops::mul__Scalar>::declare();
}

void note_clipped(const at::Tensor& tensor) {
  if (active_attachments.load(std::memory_order_relaxed) == 0 || tensor.requires_grad() || !has_plain_bytes(tensor))
    return;
  const bool is_early = clipped_zeros.load(std::memory_order_relaxed) != nullptr;
  if (is_early && clipped_later.load(std::memory_order_relaxed)) return;
  const bool is_zero = is_all_zero(tensor);
  if (!is_early && is_zero) clipped_zeros.store(const_data(tensor), std::memory_order_relaxed);
  if (is_early && !is_zero) clipped_later.store(true, std::memory_order_relaxed);
}

bool was_clipped_early(const at::Tensor& gradient) {
  const void* zeros = clipped_zeros.load(std::memory_order_relaxed);
  return zeros != nullptr && has_plain_bytes(gradient) && const_data(gradient) == zeros && is_all_zero(gradient);
}

bool was_clipped_later() {
  return clipped_later.load(std::memory_order_relaxed);
}

void forget_clips() {
  clipped_zeros.store(nullptr, std::memory_order_relaxed);
  clipped_later.store(false, std::memory_order_relaxed);
}

}  // namespace loupe
