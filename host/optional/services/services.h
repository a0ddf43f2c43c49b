#pragma once

#include <loupe/draft/abi/tensor_math.h>
#include <loupe/error.h>

#include <utility>

#include "torch/tensor/services.h"
#include "torch/tensor/tensor_view.h"

namespace loupe {

extern const ServicesTable services_table;

// The services that components request, by id. The tables are never freed.

/// LOUPE_TENSORS_ID
const loupe_tensor_service& tensor_service();
/// LOUPE_DRAFT_TENSOR_MATH_ID
const loupe_draft_tensor_math_service& tensor_math_service();
/// LOUPE_DRAFT_TENSOR_FILES_ID
const loupe_draft_tensor_file_service& tensor_files_service();
/// LOUPE_DRAFT_FINGERPRINTS_ID
const loupe_draft_fingerprint_service& fingerprint_service();
/// LOUPE_DRAFT_GRAPH_ID
const loupe_draft_graph_service& graph_service();
/// LOUPE_DRAFT_OPTIMIZER_STATES_ID
const loupe_draft_optimizer_state_service& optimizer_state_service();
/// LOUPE_DRAFT_OPTIMIZER_DEFAULTS_ID
const loupe_draft_optimizer_defaults_service& optimizer_defaults_service();

/// The tensor behind a view of this host. Throws Error for any other.
inline const at::Tensor& native_tensor(const loupe_tensor* tensor) {
  const bool is_torch = tensor != nullptr && tensor->native != nullptr && LOUPE_OFFERS(*tensor, native_library) &&
                        tensor->native_library->identity == native_libtorch().identity;
  if (!is_torch) throw Error("this tensor has no LibTorch tensor behind it", LOUPE_UNSUPPORTED);
  return *static_cast<const at::Tensor*>(tensor->native);
}

}  // namespace loupe

/// The handle that plugins hold; defined in no namespace because abi.h declares it so.
struct loupe_retained {
  at::Tensor tensor;
  loupe::TorchTensorView view;
  explicit loupe_retained(at::Tensor kept) : tensor(std::move(kept)), view(tensor) {}
};
