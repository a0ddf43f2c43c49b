#include "torch/tensor_view.h"

#include <loupe/error.h>

#include <algorithm>

struct loupe_retained {
  at::Tensor tensor;
  loupe::TensorView view;
  explicit loupe_retained(at::Tensor kept) : tensor(std::move(kept)), view(tensor) {}
};

namespace loupe {

uint32_t dtype_of(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return LOUPE_FLOAT32;
    case at::kDouble:
      return LOUPE_FLOAT64;
    case at::kHalf:
      return LOUPE_FLOAT16;
    case at::kBFloat16:
      return LOUPE_BFLOAT16;
    case at::kChar:
      return LOUPE_INT8;
    case at::kShort:
      return LOUPE_INT16;
    case at::kInt:
      return LOUPE_INT32;
    case at::kLong:
      return LOUPE_INT64;
    case at::kByte:
      return LOUPE_UINT8;
    case at::kBool:
      return LOUPE_BOOL;
    default:
      return LOUPE_OTHER_DTYPE;
  }
}

void TensorView::fill(const at::Tensor& tensor) {
  const at::Device device = tensor.device();
  const auto sizes = tensor.sizes();
  const auto strides = tensor.strides();
  view_.struct_size = sizeof view_;
  view_.dtype = dtype_of(tensor.scalar_type());
  view_.device_type = device.is_cpu() ? LOUPE_CPU : device.is_cuda() ? LOUPE_CUDA : LOUPE_OTHER_DEVICE;
  view_.device_index = device.index();
  view_.sizes = sizes.data();
  view_.strides = strides.data();
  view_.dim = static_cast<int64_t>(sizes.size());
  view_.numel = tensor.numel();
  view_.data = view_.numel == 0 ? nullptr : const_data(tensor);
  view_.native = &tensor;
  readable_ = view_.dtype != LOUPE_OTHER_DTYPE && (view_.numel == 0 || view_.data != nullptr);
}

void TensorView::make_plain(const at::Tensor& tensor) {
  readable_ = false;
  view_ = {};
  view_.struct_size = sizeof view_;
  if (tensor.is_quantized() || tensor.is_complex()) return;
  try {
    const at::NoGradGuard no_grad;
    plain_ = tensor.detach();
    if (plain_.layout() != c10::kStrided) plain_ = plain_.to_dense();
    if (plain_.is_neg()) plain_ = plain_.resolve_neg();
  } catch (const c10::Error&) {
    return;  // no plain form of it exists; the caller sees that it is not readable
  }
  if (is_plain(plain_)) fill(plain_);
}

namespace {

const at::Tensor& native(const loupe_tensor* tensor) {
  if (tensor == nullptr || tensor->native == nullptr)
    throw Error("this tensor has no LibTorch tensor behind it", LOUPE_UNSUPPORTED);
  return *static_cast<const at::Tensor*>(tensor->native);
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

}  // namespace

const loupe_tensors& tensor_service() {
  static const loupe_tensors table = {sizeof(loupe_tensors),
                                      0,
                                      &retain,
                                      [](void*, loupe_retained* kept) { delete kept; },
                                      [](void*, const loupe_retained* kept) { return kept->view.get(); },
                                      &copy,
                                      &singular_values};
  return table;
}

}  // namespace loupe
