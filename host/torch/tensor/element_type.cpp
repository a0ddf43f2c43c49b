#include "torch/tensor/element_type.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace loupe {
namespace {

struct NamedType {
  std::string_view name;  // LibTorch's
  ElementType type;
};

// Types that came after LibTorch 1.13. By name, so that this compiles with every version.
constexpr NamedType newer_types[] = {{"UInt16", {LOUPE_DTYPE_UINT, 16, 1}},
                                     {"UInt32", {LOUPE_DTYPE_UINT, 32, 1}},
                                     {"UInt64", {LOUPE_DTYPE_UINT, 64, 1}},
                                     {"Float8_e4m3fn", {LOUPE_DTYPE_FLOAT8_E4M3FN, 8, 1}},
                                     {"Float8_e4m3fnuz", {LOUPE_DTYPE_FLOAT8_E4M3FNUZ, 8, 1}},
                                     {"Float8_e5m2", {LOUPE_DTYPE_FLOAT8_E5M2, 8, 1}},
                                     {"Float8_e5m2fnuz", {LOUPE_DTYPE_FLOAT8_E5M2FNUZ, 8, 1}},
                                     {"Float8_e8m0fnu", {14, 8, 1}},
                                     {"Float4_e2m1fn_x2", {17, 4, 2}}};

ElementType newer_type(c10::ScalarType type) {
  const std::string_view name = c10::toString(type);
  for (const NamedType& newer : newer_types) {
    if (newer.name == name) return newer.type;
  }
  return {LOUPE_DTYPE_OPAQUE, 8, 1};
}

}  // namespace

ElementType element_type(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Float:
      return {LOUPE_DTYPE_FLOAT, 32, 1};
    case c10::ScalarType::Double:
      return {LOUPE_DTYPE_FLOAT, 64, 1};
    case c10::ScalarType::Half:
      return {LOUPE_DTYPE_FLOAT, 16, 1};
    case c10::ScalarType::BFloat16:
      return {LOUPE_DTYPE_BFLOAT, 16, 1};
    case c10::ScalarType::Char:
      return {LOUPE_DTYPE_INT, 8, 1};
    case c10::ScalarType::Short:
      return {LOUPE_DTYPE_INT, 16, 1};
    case c10::ScalarType::Int:
      return {LOUPE_DTYPE_INT, 32, 1};
    case c10::ScalarType::Long:
      return {LOUPE_DTYPE_INT, 64, 1};
    case c10::ScalarType::Byte:
      return {LOUPE_DTYPE_UINT, 8, 1};
    case c10::ScalarType::Bool:
      return {LOUPE_DTYPE_BOOL, 8, 1};
    case c10::ScalarType::ComplexHalf:
      return {LOUPE_DTYPE_COMPLEX, 32, 1};
    case c10::ScalarType::ComplexFloat:
      return {LOUPE_DTYPE_COMPLEX, 64, 1};
    case c10::ScalarType::ComplexDouble:
      return {LOUPE_DTYPE_COMPLEX, 128, 1};
    default:
      return newer_type(type);
  }
}

std::string element_name(c10::ScalarType type) {
  const ElementType known = element_type(type);
  const std::string bits = std::to_string(known.bits);
  switch (known.code) {
    case LOUPE_DTYPE_FLOAT:
      return "float" + bits;
    case LOUPE_DTYPE_BFLOAT:
      return "bfloat" + bits;
    case LOUPE_DTYPE_INT:
      return "int" + bits;
    case LOUPE_DTYPE_UINT:
      return "uint" + bits;
    case LOUPE_DTYPE_COMPLEX:
      return "complex" + bits;
    default:
      break;
  }
  std::string name = c10::toString(type);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

}  // namespace loupe
