#pragma once

#include <loupe/error.h>

#include <string>
#include <utility>

#include "torch/tensor/tensor_view.h"

/// The handle that plugins hold; defined in no namespace because abi.h declares it so.
struct loupe_retained {
  at::Tensor tensor;
  loupe::TorchTensorView view;
  explicit loupe_retained(at::Tensor kept) : tensor(std::move(kept)), view(tensor) {}
};

namespace loupe {

/// The tensor behind a view that this host lent. Throws Error for any other.
inline const at::Tensor& native_tensor(const loupe_tensor* tensor) {
  const bool is_torch = tensor != nullptr && tensor->native != nullptr && LOUPE_OFFERS(*tensor, native_library) &&
                        tensor->native_library->identity == native_libtorch().identity;
  if (!is_torch) {
    throw Error("this tensor has no LibTorch tensor behind it", LOUPE_UNSUPPORTED);
  }
  return *static_cast<const at::Tensor*>(tensor->native);
}

/// "[2, 3]"
inline std::string shape_of(const at::Tensor& tensor) {
  std::string text;
  for (const int64_t size : tensor.sizes()) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

}  // namespace loupe
