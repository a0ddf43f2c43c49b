#pragma once

#include <loupe/abi.h>
#include <loupe/draft/abi/tensor_math.h>

#include <algorithm>
#include <cstring>

#include "loader/component_instance.h"

namespace loupe {

/// Replaces LibTorch's tensor service for contiguous matrices of floats.
inline const loupe_tensor_service tensors_service = [] {
  loupe_tensor_service table{};
  table.struct_size = sizeof table;
  table.copy = [](void*, const loupe_tensor* tensor, double* values, std::size_t capacity, std::size_t* count,
                  loupe_error*) -> loupe_status {
    *count = static_cast<std::size_t>(tensor->numel);
    std::copy_n(static_cast<const float*>(tensor->data), std::min(*count, capacity), values);
    return LOUPE_OK;
  };
  return table;
}();
inline const loupe_draft_tensor_math_service math_service = [] {
  loupe_draft_tensor_math_service table{};
  table.struct_size = sizeof table;
  table.singular_values = [](void*, const loupe_tensor* matrix, double* values, std::size_t capacity,
                             std::size_t* count, loupe_error*) -> loupe_status {
    *count = 2;
    const auto* elements = static_cast<const float*>(matrix->data);
    const double numbers[] = {static_cast<double>(elements[0]) + 10, elements[1]};
    std::memcpy(values, numbers, std::min<std::size_t>(capacity, 2) * sizeof(double));
    return LOUPE_OK;
  };
  return table;
}();

inline void offer_services() {
  offer_interface(LOUPE_TENSORS_ID, &tensors_service);
  offer_interface(LOUPE_DRAFT_TENSOR_MATH_ID, &math_service);
}

}  // namespace loupe
