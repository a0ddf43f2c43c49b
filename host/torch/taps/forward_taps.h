#pragma once

#include <unordered_map>
#include <vector>

namespace torch::nn {
class Module;
struct AnyModulePlaceholder;
}  // namespace torch::nn

namespace loupe {

struct FoundModule;

/// Closes the forward of a normalization that this thread left by an exception.
void close_stale_norm();

/// The modules that a model's Sequentials run. A Sequential calls its children through a virtual table for each type,
/// so forwards defined by the program can be seen there, and nowhere else without loupe::Tapped.
class SequentialTaps {
 public:
  explicit SequentialTaps(const std::vector<FoundModule>& model);

  /// Redirects the calls of a child's type; under a hold of the redirections. Returns false if the module is no child
  /// or the system refuses.
  bool reach(const torch::nn::Module& child) const;

 private:
  std::unordered_map<const torch::nn::Module*, torch::nn::AnyModulePlaceholder*> children_;
};

}  // namespace loupe
