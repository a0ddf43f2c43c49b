#pragma once

#include <loupe/abi.h>

#include "torch/tensor/compat.h"

namespace loupe {

/// A loupe_tensor over an at::Tensor, which must outlive it. A sparse, conjugated or otherwise unreadable tensor is
/// first made plain, at the price of a copy; one that cannot be, or has elements that cannot be measured, is told by
/// readable().
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
  const loupe_tensor* get() const { return &view_; }

 private:
  static bool is_plain(const at::Tensor& tensor) {
    return tensor.layout() == c10::kStrided && tensor.has_storage() && !tensor.is_neg() && !tensor.is_conj() &&
           !tensor.is_quantized();
  }
  void fill(const at::Tensor& tensor);
  void make_plain(const at::Tensor& tensor);

  loupe_tensor view_;
  at::Tensor plain_;
  bool readable_ = true;
};

/// How often the tensor behind it was changed in place; 0 where LibTorch does not count. See set_tensor_version.
uint64_t tensor_version(const loupe_tensor& tensor);

/// The LibTorch that this host is linked with, for loupe_tensor.native_library.
const loupe_native_library& native_libtorch();

}  // namespace loupe
