#include "inspector/losses.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <unordered_set>
#include <utility>

namespace loupe {

namespace {

/// The main memory of this process, in bytes; nullopt if unknown.
std::optional<double> process_memory() {
  std::ifstream file("/proc/self/statm");
  double all = 0, resident = 0;
  if (!(file >> all >> resident)) return std::nullopt;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

/// A node of the model below the loss; a kept loss, or a kept output, keeps it alive.
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

void DeferredLosses::flush() {
  if (losses_.empty()) return;
  const std::vector<Loss> losses = std::exchange(losses_, {});
  const at::Device device = losses[0].value.device();
  std::vector<at::Tensor> values;
  for (const Loss& loss : losses) values.push_back(loss.value.to(device, at::kDouble).reshape({1}));
  const at::Tensor all = at::cat(values).cpu();
  for (std::size_t i = 0; i < losses.size(); ++i)
    monitor_.push(losses[i].label, all.data_ptr<double>()[i], losses[i].flags);
}

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
  // A part that is computed once and used repeatedly counts once.
  std::unordered_set<const void*> different;
  for (const Graph& each : graphs_) different.insert(each.address);
  told_ = different.size() == graphs_.size() &&
          std::none_of(graphs_.begin(), graphs_.end(), [](const Graph& each) { return each.node.expired(); });
  if (told_ && first_bytes_ > 0) growth_ = process_memory().value_or(first_bytes_) - first_bytes_;
  return told_;
}

}  // namespace loupe
