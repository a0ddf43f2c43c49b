#pragma once

#include <cstdint>

#include "loupe/abi.h"

namespace loupe::measure {

/// An element type in one number, so that it can be switched on: DLPack's code, bits and lanes, of which any other
/// combination is a value too. Those that are measured have names.
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

/// Whether elements are measured, and remembered, as double rather than float: where float could not hold them.
constexpr bool computes_in_double(Dtype dtype) {
  return dtype == Dtype::kFloat64 || dtype == Dtype::kInt32 || dtype == Dtype::kInt64;
}

}  // namespace loupe::measure
