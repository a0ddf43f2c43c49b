#ifndef LOUPE_HOST_MEASURE_ELEMENT_H
#define LOUPE_HOST_MEASURE_ELEMENT_H

#include <cstdint>

#include "loupe/abi.h"

namespace loupe::measure {

/// Bytes of one element; 0 for a dtype that is not measured.
constexpr int64_t element_size(uint32_t dtype) {
  switch (dtype) {
    case LOUPE_INT8:
    case LOUPE_UINT8:
    case LOUPE_BOOL:
      return 1;
    case LOUPE_FLOAT16:
    case LOUPE_BFLOAT16:
    case LOUPE_INT16:
      return 2;
    case LOUPE_FLOAT32:
    case LOUPE_INT32:
      return 4;
    case LOUPE_FLOAT64:
    case LOUPE_INT64:
      return 8;
    default:
      return 0;
  }
}

/// Whether elements are measured, and remembered, as double rather than float: where float could not hold them.
constexpr bool computes_in_double(uint32_t dtype) {
  return dtype == LOUPE_FLOAT64 || dtype == LOUPE_INT32 || dtype == LOUPE_INT64;
}

}  // namespace loupe::measure

#endif
