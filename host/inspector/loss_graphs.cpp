#include "inspector/loss_graphs.h"

#include <torch/csrc/autograd/function.h>

#include <algorithm>

namespace loupe {

bool LossGraphs::add(const at::Tensor& loss) {
  const auto& graph = loss.grad_fn();
  if (told_ || graph == nullptr) return false;
  if (graphs_.size() < looked_back) {
    graphs_.emplace_back(graph);
  } else {
    graphs_[count_ % looked_back] = WeakNodeHandle(graph);
  }
  if (++count_ < 2 * looked_back || count_ % looked_back != 0) return false;
  told_ = std::none_of(graphs_.begin(), graphs_.end(), [](const WeakNodeHandle& each) { return each.expired(); });
  return told_;
}

}  // namespace loupe
