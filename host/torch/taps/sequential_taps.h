#pragma once

#include <unordered_map>
#include <vector>

#include "torch/model/model_walk.h"

namespace torch::nn {
struct AnyModulePlaceholder;
}

namespace loupe {

/// The modules that a model's Sequentials run. A Sequential calls its children through a virtual table for each type,
/// so that forwards which the program itself defines can be seen there, as they can nowhere else without loupe::Tapped.
class SequentialTaps {
 public:
  explicit SequentialTaps(const std::vector<FoundModule>& model);

  /// Redirects the calls of a child's type; under a hold of the redirections. False for what is no child, and where the
  /// system refuses.
  bool reach(const torch::nn::Module& child) const;

 private:
  std::unordered_map<const torch::nn::Module*, torch::nn::AnyModulePlaceholder*> children_;
};

}  // namespace loupe
