#include <loupe/error.h>

#include <algorithm>

#include "torch/tensor_file.h"
#include "torch/tensor_view.h"

struct loupe_retained {
  at::Tensor tensor;
  loupe::TorchTensorView view;
  explicit loupe_retained(at::Tensor kept) : tensor(std::move(kept)), view(tensor) {}
};

namespace loupe {
namespace {

const at::Tensor& native(const loupe_tensor* tensor) {
  if (tensor == nullptr || tensor->native == nullptr)
    throw Error("this tensor has no LibTorch tensor behind it", LOUPE_UNSUPPORTED);
  return *static_cast<const at::Tensor*>(tensor->native);
}

std::string shape_of(const at::Tensor& tensor) {
  std::string text;
  for (const int64_t size : tensor.sizes()) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

loupe_status retain(void*, const loupe_tensor* tensor, loupe_retained** kept, loupe_error* error) {
  return detail::guarded(error, [&] { *kept = new loupe_retained(native(tensor).detach()); });
}

loupe_status copy(void*, const loupe_tensor* tensor, double* values, loupe_error* error) {
  return detail::guarded(error, [&] {
    const at::NoGradGuard no_grad;
    const at::Tensor flat = native(tensor).detach().to(at::kCPU, at::kDouble).contiguous();
    std::copy_n(flat.data_ptr<double>(), flat.numel(), values);
  });
}

loupe_status singular_values(void*, const loupe_tensor* matrix, double* values, std::size_t capacity,
                             std::size_t* count, loupe_error* error) {
  return detail::guarded(error, [&] {
    const at::NoGradGuard no_grad;
    at::Tensor tensor = native(matrix).detach().to(at::kCPU, at::kDouble);
    if (tensor.dim() < 2) throw Error("singular values need a matrix, not a tensor of fewer dimensions", LOUPE_INVALID);
    if (tensor.dim() > 2) tensor = tensor.flatten(1);
    if (!torch::isfinite(tensor).all().item<bool>()) {
      throw Error("a matrix with NaN or Inf has no singular values", LOUPE_NOT_FOUND);
    }
    const at::Tensor sorted = std::get<1>(torch::svd(tensor, /*some=*/true, /*compute_uv=*/false)).contiguous();
    *count = std::min(capacity, static_cast<std::size_t>(sorted.numel()));
    std::copy_n(sorted.data_ptr<double>(), *count, values);
  });
}

loupe_status clone(void*, const loupe_tensor* tensor, int64_t item, loupe_retained** kept, loupe_error* error) {
  return detail::guarded(error, [&] {
    const at::NoGradGuard no_grad;
    at::Tensor source = native(tensor).detach();
    if (item >= 0) {
      if (source.dim() == 0 || item >= source.size(0)) {
        throw Error("a tensor of shape " + shape_of(source) + " has no item " + std::to_string(item), LOUPE_NOT_FOUND);
      }
      source = source.select(0, item);
    }
    *kept = new loupe_retained(source.clone());
  });
}

void fold_into(at::Tensor& into, const at::Tensor& other, uint32_t aggregation, uint64_t count) {
  switch (aggregation) {
    case LOUPE_SUM:
      into.add_(other);
      return;
    case LOUPE_MEAN:
      into.add_(other.sub(into).div_(static_cast<double>(count + 1)));
      return;
    case LOUPE_MAX:
      into.copy_(at::maximum(into, other));
      return;
    case LOUPE_MIN:
      into.copy_(at::minimum(into, other));
      return;
    default:
      throw Error("tensors are folded into their sum, mean, max or min only", LOUPE_UNSUPPORTED);
  }
}

loupe_status fold(void*, loupe_retained* into, const loupe_tensor* tensor, uint32_t aggregation, uint64_t count,
                  loupe_error* error) {
  return detail::guarded(error, [&] {
    const at::NoGradGuard no_grad;
    const at::Tensor other = native(tensor).detach();
    if (other.sizes() != into->tensor.sizes()) {
      throw Error("a tensor of shape " + shape_of(other) + " cannot be folded into one of shape " +
                      shape_of(into->tensor) + ", which came first",
                  LOUPE_INVALID);
    }
    fold_into(into->tensor, other, aggregation, count);
  });
}

loupe_status save(void*, const loupe_retained* const* tensors, std::size_t count, uint32_t as_list, const char* path,
                  loupe_error* error) {
  return detail::guarded(error, [&] {
    std::vector<at::Tensor> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(tensors[i]->tensor);
    if (all.empty() && as_list == 0) throw Error("there is no tensor to save", LOUPE_INVALID);
    save_tensors(all, as_list != 0, path);
  });
}

}  // namespace

const loupe_tensors& tensor_service() {
  static const loupe_tensors table = {sizeof(loupe_tensors),
                                      0,
                                      &retain,
                                      [](void*, loupe_retained* kept) { delete kept; },
                                      [](void*, const loupe_retained* kept) { return kept->view.get(); },
                                      &copy,
                                      &singular_values,
                                      &clone,
                                      &fold,
                                      &save};
  return table;
}

}  // namespace loupe
