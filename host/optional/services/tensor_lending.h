#pragma once

#include <loupe/abi.h>

#include <cstddef>
#include <memory>

namespace loupe {

/// Functions by which `loupe check`, which is linked without LibTorch, lends LibTorch's tensors over its own memory.
/// The part `services` has this table, and is loaded only beside a plugin that needs LibTorch.
struct TensorLending {
  static constexpr std::size_t size = sizeof(void*);  ///< the size of an at::Tensor

  const loupe_native_library* library;
  /// Makes an at::Tensor of the view at `place`; returns false for a type or device that LibTorch lacks. The storage,
  /// which its copies share, keeps `memory`.
  bool (*make)(void* place, const loupe_tensor& view, const std::shared_ptr<const void>& memory);
  void (*destroy)(void* place);
};

}  // namespace loupe
