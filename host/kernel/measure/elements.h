#pragma once

#include <loupe/abi.h>

#include <cstddef>
#include <cstdint>

#include "measure/kernels.h"

namespace loupe::measure {

/// An element type as one number, for `switch`: DLPack's code, bits and lanes. The types that are measured have names;
/// any other combination is a valid value.
enum class Dtype : uint32_t {
  kFloat32 = LOUPE_DTYPE_FLOAT | 32u << 8 | 1u << 16,
  kFloat64 = LOUPE_DTYPE_FLOAT | 64u << 8 | 1u << 16,
  kFloat16 = LOUPE_DTYPE_FLOAT | 16u << 8 | 1u << 16,
  kBFloat16 = LOUPE_DTYPE_BFLOAT | 16u << 8 | 1u << 16,
  kInt8 = LOUPE_DTYPE_INT | 8u << 8 | 1u << 16,
  kInt16 = LOUPE_DTYPE_INT | 16u << 8 | 1u << 16,
  kInt32 = LOUPE_DTYPE_INT | 32u << 8 | 1u << 16,
  kInt64 = LOUPE_DTYPE_INT | 64u << 8 | 1u << 16,
  kUInt8 = LOUPE_DTYPE_UINT | 8u << 8 | 1u << 16,
  kBool = LOUPE_DTYPE_BOOL | 8u << 8 | 1u << 16
};

constexpr Dtype dtype_of(const loupe_tensor& tensor) {
  return static_cast<Dtype>(tensor.dtype_code | uint32_t{tensor.dtype_bits} << 8 | uint32_t{tensor.dtype_lanes} << 16);
}

/// Bytes of one element; 0 for a dtype that is not measured.
constexpr int64_t element_size(Dtype dtype) {
  switch (dtype) {
    case Dtype::kInt8:
    case Dtype::kUInt8:
    case Dtype::kBool:
      return 1;
    case Dtype::kFloat16:
    case Dtype::kBFloat16:
    case Dtype::kInt16:
      return 2;
    case Dtype::kFloat32:
    case Dtype::kInt32:
      return 4;
    case Dtype::kFloat64:
    case Dtype::kInt64:
      return 8;
  }
  return 0;
}

/// Whether elements are measured and kept as double, because float could not represent them.
constexpr bool computes_in_double(Dtype dtype) {
  return dtype == Dtype::kFloat64 || dtype == Dtype::kInt32 || dtype == Dtype::kInt64;
}

/// Whether the elements lie one after the other, the last dimension fastest.
inline bool is_row_major(const loupe_tensor& tensor) {
  int64_t expected = 1;
  for (int64_t d = tensor.dim - 1; d >= 0; --d) {
    if (tensor.sizes[d] == 1) continue;  // its stride is never used and may have any value
    if (tensor.strides[d] != expected) return false;
    expected *= tensor.sizes[d];
  }
  return true;
}

/// Whether the elements lie one after the other with the dimensions in any order, as in channels-last images.
inline bool is_dense(const loupe_tensor& tensor) {
  if (tensor.numel == 0 || is_row_major(tensor)) return true;
  // Follow the dimensions from the fastest on: each must begin where the ones before it end.
  int64_t covered = 1;
  while (covered < tensor.numel) {
    int64_t d = 0;
    while (d < tensor.dim && (tensor.sizes[d] == 1 || tensor.strides[d] != covered)) ++d;
    if (d == tensor.dim) return false;
    covered *= tensor.sizes[d];
  }
  return covered == tensor.numel;
}

/// The product of the sizes after dimension `d`.
inline int64_t elements_inside(const loupe_tensor& tensor, int64_t d) {
  int64_t elements = 1;
  while (++d < tensor.dim) elements *= tensor.sizes[d];
  return elements;
}

/// Reads a tensor's elements one block after the other as T: in memory order where the caller knows it to be dense, and
/// otherwise in row-major order. Elements that are contiguous and T already are not copied.
///
/// T is double for the dtypes of computes_in_double, else float. Lives on the stack of one thread.
template <typename T>
class ElementReader {
 public:
  /// Begins with element `begin` in that order.
  ElementReader(const loupe_tensor& tensor, bool dense, int64_t begin);

  /// The next `count` elements, at most kBlock<T> and no more than are left; valid until the next call.
  const T* next(int64_t count);

 private:
  static constexpr int64_t kMaxDimensions = 64;

  const std::byte* gather(int64_t count);
  template <typename Raw>
  void gather_as(Raw* to, int64_t count);
  const T* widen(const std::byte* from, int64_t count);

  const loupe_tensor& tensor_;
  const bool dense_;
  const Dtype dtype_;
  const int64_t element_size_;
  const std::byte* at_;            // the next element
  int64_t index_[kMaxDimensions];  // its index, while gathering
  alignas(64) T widened_[kBlock<T>];
  alignas(64) std::byte gathered_[kBlock<T> * sizeof(T)];  // no element is larger than a T
};

}  // namespace loupe::measure
