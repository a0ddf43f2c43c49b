#pragma once

#include <c10/core/ScalarType.h>
#include <loupe/abi.h>

#include <string>

#include "core/shared.h"
#include "torch/tensor/compat.h"

namespace loupe {

/// An element type in DLPack's form: the members of loupe_tensor.
struct ElementType {
  uint8_t code, bits;
  uint16_t lanes;
};

/// LOUPE_DTYPE_OPAQUE for types without a DLPack code, such as quantized numbers.
LOUPE_SHARED ElementType element_type(c10::ScalarType type);

/// A loupe_tensor over an at::Tensor, which must outlive it. A conjugated or otherwise unreadable tensor is first
/// copied into plain form. The view of a sparse one has only its values, because the dense form might be thousands of
/// times as large. readable() is false if no view is possible, or if its elements cannot be measured.
class TorchTensorView {
 public:
  explicit TorchTensorView(const at::Tensor& tensor) {
    if (is_plain(tensor)) {
      fill(tensor);
    } else {
      make_plain(tensor);
    }
  }
  TorchTensorView(const TorchTensorView&) = delete;
  TorchTensorView& operator=(const TorchTensorView&) = delete;

  bool readable() const { return readable_; }
  /// Added to the flags of its event.
  uint32_t flags() const { return sparse_ ? uint32_t{LOUPE_EVENT_SPARSE} : 0; }
  const loupe_tensor* get() const { return &view_; }

 private:
  static bool is_plain(const at::Tensor& tensor) {
    return tensor.layout() == c10::kStrided && tensor.has_storage() && !tensor.is_neg() && !tensor.is_conj() &&
           !tensor.is_quantized();
  }
  LOUPE_SHARED void fill(const at::Tensor& tensor);
  LOUPE_SHARED void make_plain(const at::Tensor& tensor);

  loupe_tensor view_;
  at::Tensor plain_;
  bool readable_ = true, sparse_ = false;
};

/// The LibTorch that this host is linked with, for loupe_tensor.native_library.
LOUPE_SHARED const loupe_native_library& native_libtorch();

}  // namespace loupe
