#pragma once

#include <cstdint>

#include "loupe/abi.h"

namespace loupe::measure {

/// Whether the elements lie one after the other, the last dimension fastest.
inline bool is_row_major(const loupe_tensor& tensor) {
  int64_t expected = 1;
  for (int64_t d = tensor.dim - 1; d >= 0; --d) {
    if (tensor.sizes[d] == 1) continue;  // its stride is never used and may be anything
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

}  // namespace loupe::measure
