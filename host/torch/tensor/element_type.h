#pragma once

#include <c10/core/ScalarType.h>
#include <loupe/abi.h>

#include <string>

namespace loupe {

/// An element type as DLPack writes it: the members of loupe_tensor.
struct ElementType {
  uint8_t code, bits;
  uint16_t lanes;
};

/// LOUPE_DTYPE_OPAQUE for what DLPack has no code for, such as quantized numbers.
ElementType element_type(c10::ScalarType type);

/// As LibTorch's users write it: "float32", "complex64", "qint8".
std::string element_name(c10::ScalarType type);

}  // namespace loupe
