#include "inspector/loss_graphs.h"

#include <torch/csrc/autograd/function.h>

#include <algorithm>

namespace loupe {

bool LossGraphs::add(const at::Tensor& loss) {
  const auto& graph = loss.grad_fn();
  if (told_ || graph == nullptr) return false;
  graphs_[next_++ % looked_back] = graph;
  if (next_ < 2 * looked_back || next_ % looked_back != 0) return false;
  told_ = std::none_of(graphs_.begin(), graphs_.end(), [](const auto& each) { return each.expired(); });
  return told_;
}

}  // namespace loupe
