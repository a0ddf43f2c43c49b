#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>

#include "core/forks.h"

namespace c10 {
struct TensorImpl;
}

namespace torch::nn {
class Module;
}
namespace torch::optim {
class Optimizer;
}

namespace loupe {

class OptimizerSteps;
struct FunctionKind;

/// State about a module that no attached model registered.
struct UnregisteredModule {
  const torch::nn::Module* module = nullptr;  // only to compare with
  const std::type_info* type = nullptr;
  bool has_parameters = false;
  bool is_loss = false;
  const FunctionKind* kind = nullptr;  ///< the equivalent function, if that is shown

  /// Whether its parameters get new gradients but have not changed for some steps, and no known optimizer holds them.
  /// The gradients of a part that was trained earlier and is now frozen do not change. Returns true at most once.
  /// @param steps   of attached optimizers on this thread so far
  /// @param inside  an attached model's code calls it; for other callers, certainty takes more steps
  bool is_never_trained(const torch::nn::Module& module, std::uint32_t steps, bool inside);

 private:
  std::uint32_t since_step_ = 0;
  std::uint64_t values_ = 0, gradients_ = 0;
  int looks_ = 0;
};

/// Sets of parameters, each of one attached model. Any thread.
class ParametersByModel {
 public:
  using Set = std::unordered_set<const c10::TensorImpl*>;
  void set(const OptimizerSteps* model, Set parameters);
  bool has(const c10::TensorImpl* parameter) const;
  /// A number that changes whenever the sets do.
  std::uint64_t generation() const { return generation_.load(std::memory_order_relaxed); }

 private:
  mutable ProcessMutex mutex_;
  std::unordered_map<const OptimizerSteps*, Set> sets_;
  std::atomic<std::uint64_t> generation_{1};
};
/// The parameters of attached models, and those that their optimizers hold.
ParametersByModel& attached_parameters();
ParametersByModel& trained_parameters();

/// A fingerprint of the parameters of an optimizer.
std::uint64_t fingerprint_of(const torch::optim::Optimizer& optimizer);

/// An optimizer of no attached model clears gradients or steps, so it trains its parameters. Quick if no module is in
/// doubt. Any thread.
void note_other_optimizer(const torch::optim::Optimizer& optimizer);

/// The unregistered modules of one thread. It remembers the latest ones.
class UnregisteredModules {
 public:
  UnregisteredModule& find(const torch::nn::Module& module);
  /// Forgets all, because attachments may have changed, and addresses may be reused.
  void forget() { known_ = {}; }

 private:
  static constexpr int set_bits = 6;
  static constexpr std::size_t ways = 8;  // places for colliding addresses
  using Set = std::array<UnregisteredModule, ways>;
  std::array<Set, std::size_t{1} << set_bits> known_;
  std::size_t next_ = 0;
};

}  // namespace loupe
