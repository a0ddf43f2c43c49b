#include "run/twin_model.h"

#include <torch/optim/optimizer.h>
#include <algorithm>
#include <cstdint>
#include <set>
#include <unordered_set>

namespace loupe {

bool has_any_gradient(const torch::optim::Optimizer& optimizer) {
  for (const auto& group : optimizer.param_groups()) {
    for (const at::Tensor& parameter : group.params()) {
      if (parameter.grad().defined()) return true;
    }
  }
  return false;
}

std::optional<Finding> finding_of_twin(const torch::optim::Optimizer& optimizer, const std::vector<LossLeaf>& leaves,
                                       const std::string& model) {
  if (leaves.empty() || has_any_gradient(optimizer)) return std::nullopt;
  std::unordered_set<const c10::TensorImpl*> held;
  std::multiset<std::vector<int64_t>> shapes, others;
  for (const auto& group : optimizer.param_groups()) {
    for (const at::Tensor& parameter : group.params()) {
      held.insert(parameter.unsafeGetTensorImpl());
      shapes.insert(parameter.sizes().vec());
    }
  }
  for (const LossLeaf& leaf : leaves) {
    if (held.count(leaf.parameter) != 0) return std::nullopt;
    others.insert(leaf.shape);
  }
  if (shapes != others) return std::nullopt;
  Finding finding;
  finding.rule = "stale_optimizer";
  finding.severity = LOUPE_SEVERITY_ERROR;
  finding.message = "the optimizer holds the parameters of one instance of '" + model +
                    "', but the loss is computed by another: each of the " + std::to_string(shapes.size()) +
                    " parameters that the loss depends on has the shape of one that the optimizer holds, and of those "
                    "none has a gradient, so that no step trains anything";
  finding.advice = "make the optimizer from the parameters of the instance whose forward is called";
  return finding;
}

}  // namespace loupe
