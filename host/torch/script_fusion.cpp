#include "torch/script_fusion.h"

#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include <algorithm>

namespace loupe {
namespace {

using torch::jit::Block;
using torch::jit::Node;

bool is_fusion(const Node& node) {
  const std::string kind = node.kind().toQualString();
  return kind == "prim::TensorExprGroup" || kind == "prim::TensorExprDynamicGroup" ||
         kind.find("FusionGroup") != std::string::npos;
}

void find_fused(const Block& block, bool inside, std::vector<std::string>& names) {
  for (const Node* node : block.nodes()) {
    const std::string name = node->kind().toQualString();
    const bool is_operator = !node->kind().is_prim();
    if (inside && is_operator && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    for (const Block* below : node->blocks()) find_fused(*below, inside, names);
    if (node->hasAttribute(c10::attr::Subgraph))
      find_fused(*node->g(c10::attr::Subgraph)->block(), inside || is_fusion(*node), names);
  }
}

}  // namespace

std::vector<std::string> fused_operators() {
  std::vector<std::string> names;
  const std::shared_ptr<torch::jit::Graph> graph = torch::jit::lastExecutedOptimizedGraph();
  if (graph != nullptr) find_fused(*graph->block(), false, names);
  return names;
}

}  // namespace loupe
