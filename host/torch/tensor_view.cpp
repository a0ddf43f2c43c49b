#include "torch/tensor_view.h"

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

void TorchTensorView::fill(const at::Tensor& tensor) {
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

void TorchTensorView::make_plain(const at::Tensor& tensor) {
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

}  // namespace loupe
