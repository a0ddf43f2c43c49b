#pragma once

#include <loupe/abi.h>

namespace loupe {
inline namespace v1_0 {

/// A tensor as it crosses the boundary: borrowed, read-only, valid for the call.
class TensorView {
 public:
  explicit TensorView(const loupe_tensor* tensor) : tensor_(tensor) {}

  explicit operator bool() const { return tensor_ != nullptr; }
  /// Whether its elements have this type, in DLPack's codes: is_of(LOUPE_DTYPE_FLOAT, 32).
  bool is_of(uint8_t code, uint8_t bits) const {
    return tensor_->dtype_code == code && tensor_->dtype_bits == bits && tensor_->dtype_lanes == 1;
  }
  bool is_cpu() const { return tensor_->device_type == LOUPE_DEVICE_CPU; }
  int64_t dim() const { return tensor_->dim; }
  int64_t numel() const { return tensor_->numel; }
  int64_t size(int64_t d) const { return tensor_->sizes[d < 0 ? d + tensor_->dim : d]; }
  int64_t stride(int64_t d) const { return tensor_->strides[d < 0 ? d + tensor_->dim : d]; }
  /// A pointer to the first element. T must match is_of(); device memory unless is_cpu().
  template <class T>
  const T* data() const {
    return static_cast<const T*>(tensor_->data);
  }
  /// Whether the elements lie row by row without gaps.
  bool is_contiguous() const {
    int64_t expected = 1;
    for (int64_t d = dim() - 1; d >= 0; --d) {
      if (size(d) != 1 && stride(d) != expected) return false;
      expected *= size(d);
    }
    return true;
  }
  const loupe_tensor* raw() const { return tensor_; }

 private:
  const loupe_tensor* tensor_;
};

}  // namespace v1_0
}  // namespace loupe
