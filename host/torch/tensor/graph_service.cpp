#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <unordered_set>
#include <vector>

#include "torch/tensor/compat.h"
#include "torch/tensor/retained_tensor.h"
#include "torch/tensor/services.h"

namespace loupe {
namespace {

using torch::autograd::Node;

loupe_status leaves(void*, const loupe_tensor* tensor, loupe_draft_take_leaf take, void* context, loupe_error* error) {
  return detail::guarded(error, [&] {
    const at::Tensor& native = native_tensor(tensor);
    std::unordered_set<const Node*> met;
    std::vector<Node*> waiting;
    const auto meet = [&](Node* node) {
      if (node != nullptr && met.insert(node).second) waiting.push_back(node);
    };
    meet(native.grad_fn().get());
    while (!waiting.empty()) {
      Node* node = waiting.back();
      waiting.pop_back();
      const auto* leaf = dynamic_cast<const torch::autograd::AccumulateGrad*>(node);
      if (leaf != nullptr && leaf->variable.has_storage()) take(context, const_data(leaf->variable));
      for (const auto& edge : node->next_edges()) meet(edge.function.get());
    }
  });
}

}  // namespace

const loupe_draft_graph_service& graph_service() {
  static const loupe_draft_graph_service table = {
      .struct_size = sizeof(loupe_draft_graph_service), .reserved = 0, .leaves = &leaves};
  return table;
}

}  // namespace loupe
