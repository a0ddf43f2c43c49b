#pragma once

#include <loupe/draft/abi/flags.h>

#include <c10/util/SmallVector.h>

#include <array>
#include <utility>

#include "core/shared.h"
#include "torch/model/registry.h"
#include "torch/taps/call_place.h"
#include "torch/taps/unregistered.h"

namespace loupe {

constexpr int max_functions = 64;
/// The number of calls of one function after one module with separate names; a loop without modules may make more.
constexpr std::uint8_t max_occurrences = 100;

class ForwardScope;

/// One forward of a model whose own forward no tap sees: from the first module or function in it on.
struct Pass {
  const WatchedModel* attachment = nullptr;  // only to compare with
  bool in_code = false;                      // its modules run below the code of the model's class
  std::uint64_t caller = 0;                  // identifies the caller of that code
  const ModuleEntry* first = nullptr;        // the module that ran first
  /// The module that each model's pass ended with, as far as known.
  c10::SmallVector<std::pair<const WatchedModel*, const ModuleEntry*>, 4> final;
  /// Call paths of the functions that were called before any module.
  c10::SmallVector<std::uint64_t, 16> entries;
  /// A function before any module, kept until the first module shows its model.
  struct EarlyFunction {
    const FunctionKind* kind;
    at::Tensor input, output;
    uint32_t flags;
  };
  c10::SmallVector<EarlyFunction, 16> waiting;
  bool told_of_waiting = false;
};

/// The state of one thread's forwards.
struct ThreadState {
  std::shared_ptr<const Registry::Table> table = std::make_shared<Registry::Table>();
  uint64_t generation = 0;
  int depth = 0;                      // number of running tapped forwards
  int opaque = 0;                     // LibTorch's own leaves among them
  ForwardScope* scope = nullptr;      // the innermost of them
  const ModuleEntry* last = nullptr;  // the module that functions are named after: the one that ran last, or runs
  bool last_training = false;
  std::array<uint8_t, max_functions> occurrences{};  // calls of each function since then
  Pass pass;
  CallPlaces places;
  UnregisteredModules unregistered;
  std::uint32_t steps = 0;                   // steps of attached optimizers
  bool listens = false;                      // it listens to autograd's nodes, for the part `timing`
  const WatchedModel* last_model = nullptr;  // the model whose module or function ran last; only to compare with
  // A normalization between the start of its forward and the call of its operator.
  torch::nn::Module* pending_norm = nullptr;
  const c10::TensorImpl* pending_input = nullptr;
};
LOUPE_SHARED ThreadState& thread_state();

/// Takes over attachments and detachments since the last call.
void refresh(ThreadState& state);
const ModuleEntry* root_entry(const ThreadState& state, const WatchedModel* model);
CallPlace place_of(ThreadState& state, const CallSite& site);
/// A module of an attached model begins its forward, and no other module's tap surrounds it.
void begin_outermost(ThreadState& state, const torch::nn::Module& module, const ModuleEntry& entry,
                     const CallSite& site);
/// A function was called: decides which forward it belongs to, and shows its result there.
/// @param site  of the call  @param flags  LOUPE_DRAFT_EVENT_DROPS
LOUPE_SHARED void function_called(const FunctionKind& kind, const at::Tensor& input, const at::Tensor& output,
                                  const CallSite& site, uint32_t flags = 0);
/// Shows the inputs of a loss about to be computed to the model that ran last on this thread. There must be one.
/// @param flags  LOUPE_DRAFT_LOSS_ bits
void loss_called(const at::Tensor& input, const at::Tensor& target, uint32_t flags);
/// Ends the thread's forward: later functions do not belong to it. Any thread, for itself.
void end_pass();
/// The same at an optimizer's step.
void note_step();

}  // namespace loupe
