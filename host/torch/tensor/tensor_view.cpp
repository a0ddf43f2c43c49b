#include "torch/tensor/tensor_view.h"

#include <ATen/core/grad_mode.h>
#include <c10/core/UndefinedTensorImpl.h>

#include "measure/elements.h"
#include "torch/tensor/device.h"
#include "torch/tensor/element_type.h"

namespace loupe {

const loupe_native_library& native_libtorch() {
  static const loupe_native_library library = {.struct_size = sizeof library,
                                               .name = "libtorch",
                                               .version = TORCH_VERSION,
                                               .identity = c10::UndefinedTensorImpl::singleton()};
  return library;
}

uint64_t tensor_version(const loupe_tensor& tensor) {
  const auto* native = static_cast<const at::Tensor*>(tensor.native);
  const bool counts = native != nullptr && native->defined() && !native->is_inference();
  return counts ? static_cast<uint64_t>(native->_version()) : 0;
}

void TorchTensorView::fill(const at::Tensor& tensor) {
  const at::Device device = tensor.device();
  const ElementType type = element_type(tensor.scalar_type());
  const auto sizes = tensor.sizes();
  const auto strides = tensor.strides();
  view_.struct_size = sizeof view_;
  view_.dtype_code = type.code;
  view_.dtype_bits = type.bits;
  view_.dtype_lanes = type.lanes;
  view_.device_type = device_type(device.type());
  view_.device_id = device.is_cpu() ? 0 : device.index();
  view_.sizes = sizes.data();
  view_.strides = strides.data();
  view_.dim = static_cast<int64_t>(sizes.size());
  view_.numel = tensor.numel();
  view_.data = view_.numel == 0 ? nullptr : const_data(tensor);
  view_.native = &tensor;
  view_.native_library = &native_libtorch();
  readable_ = measure::element_size(measure::dtype_of(view_)) > 0 && (view_.numel == 0 || view_.data != nullptr);
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
