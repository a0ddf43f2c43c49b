#include "inspector/loss_graphs.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>

#include <algorithm>
#include <unordered_set>

#include "core/process_memory.h"

namespace loupe {
namespace {

/// A node of the model's, some way below the loss: whoever keeps the loss keeps it, and so does who keeps an output.
NodeHandle node_below(NodeHandle node) {
  constexpr int far_enough = 8;
  for (int i = 0; i < far_enough; ++i) {
    NodeHandle next;
    for (const auto& edge : node->next_edges()) {
      const bool is_leaf = dynamic_cast<torch::autograd::AccumulateGrad*>(edge.function.get()) != nullptr;
      if (edge.function == nullptr || is_leaf) continue;
      next = edge.function;
      break;
    }
    if (next == nullptr) break;
    node = std::move(next);
  }
  return node;
}

}  // namespace

bool LossGraphs::add(const at::Tensor& loss) {
  if (told_ || loss.grad_fn() == nullptr) return false;
  if (count_ == 0) first_bytes_ = process_memory().value_or(0);
  const NodeHandle node = node_below(loss.grad_fn());
  Graph graph{WeakNodeHandle(node), node.get()};
  if (graphs_.size() < looked_back) {
    graphs_.push_back(std::move(graph));
  } else {
    graphs_[count_ % looked_back] = std::move(graph);
  }
  if (++count_ < 2 * looked_back || count_ % looked_back != 0) return false;
  // A part that is computed once, and used again and again, is one.
  std::unordered_set<const void*> different;
  for (const Graph& each : graphs_) different.insert(each.address);
  told_ = different.size() == graphs_.size() &&
          std::none_of(graphs_.begin(), graphs_.end(), [](const Graph& each) { return each.node.expired(); });
  if (told_ && first_bytes_ > 0) growth_ = process_memory().value_or(first_bytes_) - first_bytes_;
  return told_;
}

}  // namespace loupe
