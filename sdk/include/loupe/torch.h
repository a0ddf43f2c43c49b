#ifndef LOUPE_TORCH_H
#define LOUPE_TORCH_H

// The one SDK header that needs LibTorch: for plugins that link it themselves, the same one as the program's.

#include <ATen/core/Tensor.h>
#include <loupe/error.h>

namespace loupe {

/// The tensor behind a view, borrowed for the call; copy it (which shares its memory) to keep it. Throws Error when
/// there is none, as for a view that was not made by a program with LibTorch.
inline const at::Tensor& as_torch(const loupe_tensor* tensor) {
  if (tensor == nullptr || tensor->native == nullptr) throw Error("this tensor has no LibTorch tensor behind it");
  return *static_cast<const at::Tensor*>(tensor->native);
}

}  // namespace loupe

#endif
