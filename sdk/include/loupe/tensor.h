#ifndef LOUPE_TENSOR_H
#define LOUPE_TENSOR_H

#include <loupe/abi.h>

namespace loupe {

/// A tensor as it crosses the boundary: borrowed, read-only, valid for the call.
class TensorView {
 public:
  explicit TensorView(const loupe_tensor* tensor) : tensor_(tensor) {}

  explicit operator bool() const { return tensor_ != nullptr; }
  uint32_t dtype() const { return tensor_->dtype; }
  bool is_cpu() const { return tensor_->device_type == LOUPE_CPU; }
  int64_t dim() const { return tensor_->dim; }
  int64_t numel() const { return tensor_->numel; }
  int64_t size(int64_t d) const { return tensor_->sizes[d < 0 ? d + tensor_->dim : d]; }
  int64_t stride(int64_t d) const { return tensor_->strides[d < 0 ? d + tensor_->dim : d]; }
  /// The first element. T must match dtype(); device memory unless is_cpu().
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

}  // namespace loupe

#endif
