#pragma once

#include <loupe/abi.h>

#include <cstddef>
#include <memory>

namespace loupe {

/// How `loupe check`, which is linked without LibTorch, lends LibTorch's tensors over memory of its own: the part
/// `services` gives this, and is loaded only beside a plugin that needs LibTorch.
struct TensorLending {
  static constexpr std::size_t size = sizeof(void*);  ///< of an at::Tensor

  const loupe_native_library* library;
  /// Makes an at::Tensor of the view at `place`; returns false for a type or device that LibTorch lacks. The storage,
  /// which its copies share, keeps `memory`.
  bool (*make)(void* place, const loupe_tensor& view, const std::shared_ptr<const void>& memory);
  void (*destroy)(void* place);
};

}  // namespace loupe
