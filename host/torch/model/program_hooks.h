#pragma once

#include <atomic>
#include <cstdint>

namespace torch::nn {
class Module;
}
namespace torch::jit {
struct Module;
}
namespace torch::optim {
class Optimizer;
}

namespace loupe {

/// What `loupe run` hears of a program that attached nothing itself, before the taps look for attachments. On the
/// program's threads; none of them throws, and what they attach is seen by the call at hand.
struct ProgramHooks {
  void (*before_forward)(torch::nn::Module& module);        ///< one that no other tapped forward surrounds
  void (*before_script)(const torch::jit::Module& script);  ///< one of which no ScriptModel was made
  void (*before_clearing)(torch::optim::Optimizer& optimizer);
  void (*before_step)(torch::optim::Optimizer& optimizer);
  void (*after_step)(torch::optim::Optimizer& optimizer);
};
/// Null in a program that watches itself.
extern std::atomic<const ProgramHooks*> program_hooks;

/// Steps of optimizers that no tap saw, and that were noticed by what they changed: those of the run's clock.
extern std::atomic<std::uint64_t> unseen_steps;

}  // namespace loupe
