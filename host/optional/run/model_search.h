#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace torch::nn {
class Module;
}

namespace loupe {

using ParameterSet = std::unordered_set<const c10::TensorImpl*>;

/// A module with all parameters below it.
struct FoundModel {
  torch::nn::Module* module;
  std::shared_ptr<torch::nn::Module> owner;  ///< null for one on the stack, or inside another object
  ParameterSet parameters;
};

/// The modules of a program that were seen in use, and the search for the models whose parameters an optimizer holds.
/// One thread at a time.
class ModelSearch {
 public:
  /// Takes a module that is alive now. Returns whether it was unknown.
  bool see(torch::nn::Module& module);
  bool any() const { return !seen_.empty(); }
  /// Finds the module, among those seen and all below them, whose parameters are exactly, or most nearly, those wanted,
  /// together with a frozen part that may still change. If no module holds them all, finds the fewest that hold some.
  /// Only modules of `types` are taken, if any are named.
  /// @param held_by_others  parameters of other optimizers and models: a module with more than the wanted ones has none
  /// of these
  std::vector<FoundModel> find(const ParameterSet& wanted, const ParameterSet& held_by_others,
                               const std::vector<std::string>& types) const;

 private:
  struct SeenModule {
    std::weak_ptr<torch::nn::Module> owner;
    bool is_owned = false;
    // The own parameters and children of a module that is not owned, only to compare with; and all its parameters.
    std::vector<const void*> parts;
    std::vector<c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>> parameters;
  };
  static bool lives(const SeenModule& seen);
  void forget_dead();
  std::unordered_map<torch::nn::Module*, SeenModule> seen_;
};

}  // namespace loupe
