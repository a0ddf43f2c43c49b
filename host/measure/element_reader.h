#pragma once

#include <cstddef>
#include <cstdint>

#include "loupe/abi.h"
#include "measure/dtype.h"
#include "measure/kernels.h"

namespace loupe::measure {

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
  int64_t index_[kMaxDimensions];  // its index, where gathering
  alignas(64) T widened_[kBlock<T>];
  alignas(64) std::byte gathered_[kBlock<T> * sizeof(T)];  // no element is larger than what it is read as
};

}  // namespace loupe::measure
