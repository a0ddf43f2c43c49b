#pragma once

// The only SDK header that needs LibTorch: for plugins that link the same LibTorch as the program.

#include <ATen/core/Tensor.h>
#include <c10/core/UndefinedTensorImpl.h>
#include <loupe/error.h>
#include <torch/version.h>

#include <string>

namespace loupe {
inline namespace v1_0 {
namespace detail {

/// Throws Error unless that library is the LibTorch that this code is compiled with and linked to.
inline void check_libtorch(const loupe_native_library* library) {
  if (library == nullptr || library->name == nullptr || std::string(library->name) != "libtorch") {
    const bool named = library != nullptr && library->name != nullptr;
    throw Error("this tensor belongs to " + (named ? std::string(library->name) : "a library without a name") +
                    ", not to LibTorch; read it through its data, or through DLPack",
                LOUPE_UNSUPPORTED);
  }
  const std::string version = library->version != nullptr ? library->version : "";
  if (version != TORCH_VERSION) {
    throw Error("this plugin is built for LibTorch " TORCH_VERSION " and the program runs LibTorch " + version +
                    "; build the plugin with the program's LibTorch",
                LOUPE_UNSUPPORTED);
  }
  if (library->identity != c10::UndefinedTensorImpl::singleton()) {
    throw Error("this plugin has its own copy of LibTorch " TORCH_VERSION
                " beside the program's; link the program's copy",
                LOUPE_UNSUPPORTED);
  }
}

}  // namespace detail

/// The tensor behind a view, borrowed for the call; copy it (which shares its memory) to keep it. Throws Error if there
/// is none, for example in a replay, or if it belongs to a different LibTorch than this code's.
inline const at::Tensor& as_torch(const loupe_tensor* tensor) {
  if (tensor == nullptr || !LOUPE_REACHES(*tensor, native_library) || tensor->native == nullptr) {
    throw Error("this tensor has no LibTorch tensor behind it", LOUPE_UNSUPPORTED);
  }
  detail::check_libtorch(tensor->native_library);
  return *static_cast<const at::Tensor*>(tensor->native);
}

}  // namespace v1_0
}  // namespace loupe
