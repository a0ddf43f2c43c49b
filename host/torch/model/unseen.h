#pragma once

#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "torch/model/tap_point.h"

// What a tick says of modules that no tap sees though they are there.
namespace loupe {

/// At a tick: names in one line the modules that are called tapped and were not seen though the modules around them
/// ran, with the remedy. Nothing of modules whose parent did not run either. False while no module ran at all: ask
/// again at the next tick.
/// @param points  of one model, the root first  @param model  its name as shown
bool tell_of_unseen(const std::vector<std::shared_ptr<TapPoint>>& points, const std::string& model);

/// Modules that came into a model after it was attached, such as a layer put in another's place: no tap sees them.
/// Found where the model lives in a shared_ptr, as a ModuleHolder's does.
class LateModules {
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
