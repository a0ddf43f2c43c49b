#pragma once

#include <c10/util/SmallVector.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/forks.h"
#include "core/shared.h"
#include "torch/model/tap_point.h"
#include "torch/redirect/symbols.h"

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

/// All watchers of one module.
struct ModuleEntry {
  c10::SmallVector<std::shared_ptr<TapPoint>, 1> points;
  /// A leaf of LibTorch's own: functions called inside it are not shown.
  bool opaque = false;
};

/// Maps a module's address to its watchers. Read by taps on any thread without a lock; written at attach and detach by
/// publishing a new table.
class Registry {
 public:
  struct Table {
    std::unordered_map<const torch::nn::Module*, ModuleEntry> modules;
    std::vector<std::shared_ptr<TapPoint>> roots;  // the roots of the attached models
    std::vector<CodeRange> code;                   // the code of all of them, sorted
    const ModuleEntry* find(const torch::nn::Module* module) const {
      const auto found = modules.find(module);
      return found != modules.end() ? &found->second : nullptr;
    }
  };
  LOUPE_SHARED static Registry& instance();

  /// @param points  of one model, the root first, or a single one that listens
  /// @param first  put them before the present watchers of their modules
  LOUPE_SHARED void add(const std::vector<std::shared_ptr<TapPoint>>& points, bool first = false);
  /// Removes the points with this flag.
  LOUPE_SHARED void remove(const std::atomic<bool>* active);
  /// Stops watching all attached models, in a forked child. Allocates nothing.
  void abandon();

  /// Updates a thread's table and returns the previous one; null if unchanged. Entries live as long as their table.
  std::shared_ptr<const Table> refresh(std::shared_ptr<const Table>& table, uint64_t& generation);

 private:
  std::atomic<uint64_t> generation_{1};
  ProcessMutex mutex_{LockRank::registry};
  ForkWatch forks_;
  template <class Change>
  void publish(const Change& change);

  std::shared_ptr<const Table> table_ = std::make_shared<Table>();
};

/// The number of currently active attachments: at 0 every tap returns after one branch.
extern std::atomic<int> active_attachments;
/// Changes that number. For parts of the host.
LOUPE_SHARED void count_active_attachments(int change) noexcept;
/// The number of attachments that count steps even while they are not active.
extern std::atomic<int> counting_attachments;

/// Informs the part `run` about a program's actions, before the taps look for attachments. On the program's threads.
/// Functions must not throw; the current call already sees what they attach.
struct ProgramHooks {
  /// An outermost forward. Null if the program attaches its models itself.
  void (*before_forward)(torch::nn::Module& module);
  /// A script that is not yet represented by a model. Null if the program attaches its models itself.
  void (*before_script)(const torch::jit::Module& script);
  void (*before_clearing)(const torch::optim::Optimizer& optimizer);
  void (*before_step)(const torch::optim::Optimizer& optimizer);
  void (*after_step)(const torch::optim::Optimizer& optimizer);
};
/// Null in a program that attaches its models and pushes its losses itself.
extern std::atomic<const ProgramHooks*> program_hooks;
LOUPE_SHARED const ProgramHooks* hooks_of_program() noexcept;
LOUPE_SHARED void set_hooks_of_program(const ProgramHooks* hooks) noexcept;
/// Whether the program attaches nothing itself.
bool is_only_watched() noexcept;

/// Steps of the run's clock that no tap saw, and that were noticed by changed parameters.
extern std::atomic<std::uint64_t> unseen_steps;
LOUPE_SHARED std::uint64_t unseen_step_count() noexcept;

}  // namespace loupe
