#pragma once

#include <string>
#include <vector>

namespace torch::nn {
class Module;
}

namespace loupe {

/// A module where a model holds it.
struct FoundModule {
  torch::nn::Module* module;
  std::string path;  ///< dotted; "" for the root
  bool is_leaf;      ///< no children are looked into
  /// Where the same module was found first; its path, and nothing is below it here.
  bool is_repeated = false;
  std::string first_path;
};

/// Every module of a model, parents first; children down to `depth`, or all where it is negative.
std::vector<FoundModule> walk_model(torch::nn::Module& model, int depth);

}  // namespace loupe
