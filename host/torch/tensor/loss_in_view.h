#pragma once

#include <ATen/core/Tensor.h>

#include "core/shared.h"
#include "torch/tensor/compat.h"

namespace loupe {

/// While it lives, the service LOUPE_DRAFT_GRAPH_ID can find on this thread the function that made this loss; and the
/// functions before it, until the program releases its graph.
class LossInView {
 public:
  explicit LossInView(const at::Tensor& loss);
  ~LossInView();
  LossInView(const LossInView&) = delete;
  LossInView& operator=(const LossInView&) = delete;
};

/// The loss that this thread shows; null for none.
LOUPE_SHARED const at::Tensor* loss_in_view();
/// The graph of the last loss that this thread showed; null for none.
LOUPE_SHARED NodeHandle last_graph_here();

}  // namespace loupe
