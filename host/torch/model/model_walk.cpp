#include "torch/model/model_walk.h"

#include <torch/nn/module.h>
#include <unordered_map>

namespace loupe {
namespace {

struct Walk {
  const int depth;
  std::unordered_map<const torch::nn::Module*, std::string> seen;
  std::vector<FoundModule> found;

  void visit(torch::nn::Module& module, const std::string& path, int level) {
    const auto [known, is_new] = seen.emplace(&module, path);
    if (!is_new) {
      found.push_back({&module, path, true, true, known->second});
      return;
    }
    const auto children = module.named_children();
    const bool leaf = children.is_empty() || level == depth;
    found.push_back({&module, path, leaf, false, ""});
    if (leaf) return;
    for (const auto& child : children) {
      if (child.value() == nullptr) continue;
      visit(*child.value(), path.empty() ? child.key() : path + "." + child.key(), level + 1);
    }
  }
};

}  // namespace

std::vector<FoundModule> walk_model(torch::nn::Module& model, int depth) {
  Walk walk{depth, {}, {}};
  walk.visit(model, "", 0);
  return std::move(walk.found);
}

}  // namespace loupe
