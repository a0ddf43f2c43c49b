#include "torch/tensor/tensor_view.h"

#include <ATen/core/grad_mode.h>
#include <c10/core/UndefinedTensorImpl.h>

#include <string_view>

#include "measure/elements.h"

namespace loupe {
namespace {

struct NamedType {
  std::string_view name;  // LibTorch's
  ElementType type;
};

// Types newer than LibTorch 1.13, by name, so that this compiles with every version.
constexpr NamedType newer_types[] = {{"UInt16", {LOUPE_DTYPE_UINT, 16, 1}},
                                     {"UInt32", {LOUPE_DTYPE_UINT, 32, 1}},
                                     {"UInt64", {LOUPE_DTYPE_UINT, 64, 1}},
                                     {"Float8_e4m3fn", {LOUPE_DTYPE_FLOAT8_E4M3FN, 8, 1}},
                                     {"Float8_e4m3fnuz", {LOUPE_DTYPE_FLOAT8_E4M3FNUZ, 8, 1}},
                                     {"Float8_e5m2", {LOUPE_DTYPE_FLOAT8_E5M2, 8, 1}},
                                     {"Float8_e5m2fnuz", {LOUPE_DTYPE_FLOAT8_E5M2FNUZ, 8, 1}},
                                     {"Float8_e8m0fnu", {14, 8, 1}},
                                     {"Float4_e2m1fn_x2", {17, 4, 2}}};

ElementType newer_type(c10::ScalarType type) {
  const std::string_view name = c10::toString(type);
  for (const NamedType& newer : newer_types) {
    if (newer.name == name) return newer.type;
  }
  return {LOUPE_DTYPE_OPAQUE, 8, 1};
}

}  // namespace

ElementType element_type(c10::ScalarType type) {
  // LibTorch's numbers of types never change.
  static constexpr ElementType first_types[] = {
      {LOUPE_DTYPE_UINT, 8, 1},     {LOUPE_DTYPE_INT, 8, 1},       {LOUPE_DTYPE_INT, 16, 1},
      {LOUPE_DTYPE_INT, 32, 1},     {LOUPE_DTYPE_INT, 64, 1},      {LOUPE_DTYPE_FLOAT, 16, 1},
      {LOUPE_DTYPE_FLOAT, 32, 1},   {LOUPE_DTYPE_FLOAT, 64, 1},    {LOUPE_DTYPE_COMPLEX, 32, 1},
      {LOUPE_DTYPE_COMPLEX, 64, 1}, {LOUPE_DTYPE_COMPLEX, 128, 1}, {LOUPE_DTYPE_BOOL, 8, 1}};
  static_assert(static_cast<int>(c10::ScalarType::Long) == 4 && static_cast<int>(c10::ScalarType::Double) == 7 &&
                static_cast<int>(c10::ScalarType::ComplexDouble) == 10 &&
                static_cast<int>(c10::ScalarType::Bool) == 11);
  if (type <= c10::ScalarType::Bool) return first_types[static_cast<std::size_t>(type)];
  return type == c10::ScalarType::BFloat16 ? ElementType{LOUPE_DTYPE_BFLOAT, 16, 1} : newer_type(type);
}

namespace {

/// A device type's number in DLPack; 0 for one unknown to DLPack, such as meta.
int32_t device_type(c10::DeviceType type) {
  switch (type) {
    case c10::DeviceType::CPU:
      return LOUPE_DEVICE_CPU;
    case c10::DeviceType::CUDA:
#ifdef USE_ROCM
      return LOUPE_DEVICE_ROCM;
#else
      return LOUPE_DEVICE_CUDA;
#endif
    case c10::DeviceType::HIP:
      return LOUPE_DEVICE_ROCM;
    case c10::DeviceType::MPS:
      return LOUPE_DEVICE_METAL;
    case c10::DeviceType::XPU:
      return 14;
    case c10::DeviceType::PrivateUse1:
      return 12;
    default:
      return 0;
  }
}

}  // namespace

const loupe_native_library& native_libtorch() {
  static const loupe_native_library library = {.struct_size = sizeof library,
                                               .name = "libtorch",
                                               .version = TORCH_VERSION,
                                               .identity = c10::UndefinedTensorImpl::singleton()};
  return library;
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
    sparse_ = plain_.is_sparse() || plain_.is_sparse_csr();
    // Adding up duplicate entries would need to wait for the device.
    if (plain_.is_sparse() && !plain_.is_coalesced() && !plain_.is_cpu()) return;
    if (plain_.is_sparse()) plain_ = plain_.coalesce();
    if (sparse_) {
      plain_ = plain_.values();
    } else if (plain_.layout() != c10::kStrided) {
      plain_ = plain_.to_dense();
    }
    if (plain_.is_neg()) plain_ = plain_.resolve_neg();
  } catch (const c10::Error&) {
    return;  // no plain form of it exists; the caller sees that it is not readable
  }
  if (is_plain(plain_)) fill(plain_);
}

}  // namespace loupe
