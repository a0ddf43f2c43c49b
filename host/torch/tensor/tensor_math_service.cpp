#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <algorithm>

#include "torch/tensor/retained_tensor.h"
#include "torch/tensor/services.h"

namespace loupe {
namespace {

loupe_status singular_values(void*, const loupe_tensor* matrix, double* values, std::size_t capacity,
                             std::size_t* count, loupe_error* error) {
  return detail::guarded(error, [&] {
    const at::NoGradGuard no_grad;
    at::Tensor tensor = native_tensor(matrix).detach().to(at::kCPU, at::kDouble);
    if (tensor.dim() < 2) throw Error("singular values need a matrix, not a tensor of fewer dimensions", LOUPE_INVALID);
    if (tensor.dim() > 2) tensor = tensor.flatten(1);
    if (!at::isfinite(tensor).all().item<bool>()) {
      throw Error("a matrix with NaN or Inf has no singular values", LOUPE_NOT_FOUND);
    }
    const at::Tensor sorted = std::get<1>(at::svd(tensor, /*some=*/true, /*compute_uv=*/false)).contiguous();
    *count = std::min(capacity, static_cast<std::size_t>(sorted.numel()));
    std::copy_n(sorted.data_ptr<double>(), *count, values);
  });
}

void fold_into(at::Tensor& into, const at::Tensor& other, uint32_t aggregation, uint64_t count) {
  switch (aggregation) {
    case LOUPE_DRAFT_FOLD_SUM:
      into.add_(other);
      return;
    case LOUPE_DRAFT_FOLD_MEAN:
      into.add_(other.sub(into).div_(static_cast<double>(count + 1)));
      return;
    case LOUPE_DRAFT_FOLD_MAX:
      into.copy_(at::maximum(into, other));
      return;
    case LOUPE_DRAFT_FOLD_MIN:
      into.copy_(at::minimum(into, other));
      return;
    default:
      throw Error("tensors are folded into their sum, mean, max or min only", LOUPE_UNSUPPORTED);
  }
}

loupe_status clone_item(void*, const loupe_tensor* tensor, int64_t item, loupe_retained** kept, loupe_error* error) {
  return detail::guarded(error, [&] {
    const at::NoGradGuard no_grad;
    const at::Tensor source = native_tensor(tensor).detach();
    if (source.dim() == 0 || item < 0 || item >= source.size(0)) {
      throw Error("a tensor of shape " + shape_of(source) + " has no item " + std::to_string(item), LOUPE_NOT_FOUND);
    }
    *kept = new loupe_retained(source.select(0, item).clone());
  });
}

loupe_status fold(void*, loupe_retained* into, const loupe_tensor* tensor, uint32_t aggregation, uint64_t count,
                  loupe_error* error) {
  return detail::guarded(error, [&] {
    const at::NoGradGuard no_grad;
    const at::Tensor other = native_tensor(tensor).detach();
    if (other.sizes() != into->tensor.sizes()) {
      throw Error("a tensor of shape " + shape_of(other) + " cannot be folded into one of shape " +
                      shape_of(into->tensor) + ", which came first",
                  LOUPE_INVALID);
    }
    fold_into(into->tensor, other, aggregation, count);
  });
}

}  // namespace

const loupe_draft_tensor_math_service& tensor_math_service() {
  static const loupe_draft_tensor_math_service table = {.struct_size = sizeof(loupe_draft_tensor_math_service),
                                                        .singular_values = &singular_values,
                                                        .clone_item = &clone_item,
                                                        .fold = &fold};
  return table;
}

}  // namespace loupe
