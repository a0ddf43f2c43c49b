#ifndef LOUPE_TORCH_NEWCOMERS_H
#define LOUPE_TORCH_NEWCOMERS_H

#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "torch/tap_point.h"

namespace loupe {

/// Modules that came into a model after it was attached, such as a layer put in another's place: no tap sees them.
/// Found where the model lives in a shared_ptr, as a ModuleHolder's does.
class Newcomers {
 public:
  /// At a tick: names those that were not there at the last one, with the remedy.
  /// @param points  of one model, the root first  @param model  its name as shown
  void tell(const std::vector<std::shared_ptr<TapPoint>>& points, const std::string& model);

 private:
  std::unordered_set<const torch::nn::Module*> told_;
};

/// Whether the model holds the module by now, at any depth. Any thread that runs the model.
bool holds_by_now(const std::vector<std::shared_ptr<TapPoint>>& points, const torch::nn::Module& module);

}  // namespace loupe

#endif
