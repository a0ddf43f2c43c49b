#include "torch/tensor/tensor_lending.h"

#include <ATen/ops/from_blob.h>

#include <new>
#include <optional>

#include "loupe/version.h"
#include "torch/tensor/element_type.h"
#include "torch/tensor/tensor_view.h"

namespace loupe {
namespace {

std::optional<c10::ScalarType> scalar_type(const loupe_tensor& view) {
  for (int i = 0; i < static_cast<int>(c10::ScalarType::NumOptions); ++i) {
    const auto type = static_cast<c10::ScalarType>(i);
    const ElementType known = element_type(type);
    if (known.code != LOUPE_DTYPE_OPAQUE && known.code == view.dtype_code && known.bits == view.dtype_bits &&
        known.lanes == view.dtype_lanes)
      return type;
  }
  return std::nullopt;
}

bool make_tensor(void* place, const loupe_tensor& view, const std::shared_ptr<const void>& memory) {
  static_assert(sizeof(at::Tensor) == TensorLending::size);
  const std::optional<c10::ScalarType> type = scalar_type(view);
  if (!type || view.device_type != LOUPE_DEVICE_CPU) return false;
  const auto dim = static_cast<std::size_t>(view.dim);
  const auto keep = [memory](void*) {};
  new (place) at::Tensor(at::from_blob(const_cast<void*>(view.data), {view.sizes, dim}, {view.strides, dim}, keep,
                                       at::TensorOptions(*type)));
  return true;
}

void destroy_tensor(void* place) {
  static_cast<at::Tensor*>(place)->~Tensor();
}

}  // namespace
}  // namespace loupe

extern "C" LOUPE_API const loupe::TensorLending* loupe_tensor_lending();
const loupe::TensorLending* loupe_tensor_lending() {
  static const loupe::TensorLending lending = {&loupe::native_libtorch(), &loupe::make_tensor, &loupe::destroy_tensor};
  return &lending;
}
