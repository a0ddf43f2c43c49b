#pragma once

#include <loupe/abi.h>
#include <loupe/draft/abi/tensor_math.h>

namespace at {
class Tensor;
}

namespace loupe {

// The host services that stand on LibTorch, by their ids. The tables live for good.

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

/// While it lives, that service may be asked on this thread what made this loss; and what leads to it, until the
/// program lets go of its graph.
class LossInView {
 public:
  explicit LossInView(const at::Tensor& loss);
  ~LossInView();
  LossInView(const LossInView&) = delete;
  LossInView& operator=(const LossInView&) = delete;
};

}  // namespace loupe
