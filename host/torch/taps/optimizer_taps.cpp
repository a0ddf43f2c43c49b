#include "torch/taps/optimizer_taps.h"

#include <torch/optim.h>
#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/forks.h"
#include "core/work.h"
#include "pipeline/step_timing.h"
#include "torch/model/registry.h"
#include "torch/model/tap_point.h"
#include "torch/redirect/redirections.h"
#include "torch/taps/early_clips.h"
#include "torch/taps/forward_pass.h"
#include "torch/taps/optimizer_reader.h"
#include "torch/taps/unregistered.h"
#include "torch/tensor/compat.h"

namespace loupe {
namespace {

using torch::optim::Optimizer;
using Closure = Optimizer::LossClosure;
using Step = at::Tensor (*)(Optimizer*, Closure);

/// The models that wait for optimizers, and the original entries of virtual tables.
struct WatchedModels {
  ProcessMutex mutex;
  ForkWatch forks;
  VirtualOriginals<Step> originals;
  std::vector<std::pair<const WatchedModel*, std::weak_ptr<WatchedModel>>> attachments;

  static WatchedModels& instance() {
    static auto* watched = new WatchedModels();  // taps may outlive static destruction
    return *watched;
  }
  /// The models whose parameters it holds, or that it was attached with: trainers may change optimizers, or have
  /// several.
  c10::SmallVector<std::shared_ptr<WatchedModel>, 4> of(const Optimizer& optimizer) {
    c10::SmallVector<std::shared_ptr<WatchedModel>, 4> alive, found;
    {
      const std::lock_guard lock(mutex);
      for (const auto& [id, each] : attachments) alive.push_back(each.lock());
    }
    for (auto& each : alive) {
      if (each != nullptr && each->concerns(optimizer)) found.push_back(std::move(each));
    }
    return found;
  }
};

thread_local int steps_running = 0;
std::atomic<int> steps_of_all_threads{0};

/// Counts one step, including its messages before and after.
struct CountedStep {
  CountedStep() { steps_of_all_threads.fetch_add(1); }
  ~CountedStep() { steps_of_all_threads.fetch_sub(1); }
  CountedStep(const CountedStep&) = delete;
  CountedStep& operator=(const CountedStep&) = delete;
};

/// Whether anybody watches steps or counts unmeasured ones.
bool anybody_counts() {
  return active_attachments.load(std::memory_order_relaxed) != 0 ||
         counting_attachments.load(std::memory_order_relaxed) != 0;
}

/// The outermost step, while it runs.
class RunningStep {
 public:
  RunningStep() {
    ++steps_running;
    if (listener_ != nullptr) listener_->enter_optimizer();
  }
  ~RunningStep() {
    --steps_running;
    if (listener_ != nullptr) listener_->leave_optimizer();
  }
  RunningStep(const RunningStep&) = delete;
  RunningStep& operator=(const RunningStep&) = delete;

 private:
  WorkListener* listener_ = WorkListener::here();
};

template <class Call>
at::Tensor around_watched_step(Optimizer* optimizer, Call&& call) {
  // One step may run another inside (a wrapper, a closure): only the outermost counts.
  if (steps_running > 0) return call();
  const CountedStep counted;
  if (!anybody_counts()) return call();
  std::optional<LoupeTime> time(std::in_place);
  const auto attachments = WatchedModels::instance().of(*optimizer);
  if (attachments.empty()) {
    note_other_optimizer(*optimizer);
    time.reset();
    return call();
  }
  for (const auto& attachment : attachments) attachment->before_step(*optimizer);
  time.reset();
  at::Tensor result;
  {
    const RunningStep running;
    result = call();
  }
  time.emplace();
  {
    const SteppedOptimizer stepped(*optimizer);
    for (const auto& attachment : attachments) attachment->after_step(*optimizer);
  }
  for (const auto& attachment : attachments) attachment->end_step();
  // A step within a forward leaves this to the next step: code run by the callback would look like a part of the model.
  if (thread_state().depth == 0) {
    for (const auto& attachment : attachments) attachment->deliver_findings();
  }
  return result;
}

template <class Call>
at::Tensor around_step(Optimizer* optimizer, Call&& call) {
  const ProgramHooks* hooks = program_hooks.load(std::memory_order_acquire);
  const bool is_outermost = steps_running == 0;
  if (hooks != nullptr && is_outermost) {
    const LoupeTime time;
    hooks->before_step(*optimizer);
  }
  at::Tensor result = around_watched_step(optimizer, call);
  if (hooks != nullptr && is_outermost) {
    const LoupeTime time;
    hooks->after_step(*optimizer);
  }
  if (is_outermost) {
    forget_clips();
    step_is_over(optimizer);
  }
  return result;
}

at::Tensor virtual_step(Optimizer* self, Closure closure) {
  const Step original = WatchedModels::instance().originals.of(self);
  return around_step(self, [&] { return original(self, std::move(closure)); });
}

void** entry_of_step(Optimizer& optimizer) {
  return virtual_entry(&optimizer, &Optimizer::step);
}

/// @param tables  each with the entry of its step
void redirect_tables(const std::vector<std::pair<void**, void**>>& tables) {
  std::vector<void**> entries;
  for (const auto& [entry, table] : tables) {
    if (*entry == reinterpret_cast<void*>(&virtual_step)) continue;
    WatchedModels::instance().originals.keep(table, entry, &virtual_step);
    entries.push_back(entry);
  }
  if (!entries.empty()) Redirections::instance().redirect_entries(entries, reinterpret_cast<void*>(&virtual_step));
}
void redirect_table(Optimizer& optimizer) {
  void** const entry = entry_of_step(optimizer);
  if (*entry == reinterpret_cast<void*>(&virtual_step)) return;
  redirect_tables({{entry, *reinterpret_cast<void***>(&optimizer)}});
}

/// A direct call of a LibTorch optimizer's step, which the compiler emits if it knows the type.
template <class Type, class Options>
struct DirectStep {
  using OwnStep = at::Tensor (*)(Type*, Closure);
  static inline std::atomic<OwnStep> real_step{nullptr};
  static inline void **entry = nullptr, **table = nullptr;

  static at::Tensor tap(Type* self, Closure closure) {
    return around_step(self, [&] { return real_step.load(std::memory_order_acquire)(self, std::move(closure)); });
  }
  static void declare(const Options& options) {
    // The optimizer's table holds the address; a virtual member's pointer does not.
    Type optimizer(std::vector<at::Tensor>{at::zeros({1})}, options);
    entry = entry_of_step(optimizer);
    table = *reinterpret_cast<void***>(&optimizer);
    OwnStep real = nullptr;
    std::memcpy(&real, entry, sizeof real);
    real_step.store(real, std::memory_order_release);
    declare_tap(*entry, &tap);
  }
};

using SgdStep = DirectStep<torch::optim::SGD, torch::optim::SGDOptions>;
using AdamStep = DirectStep<torch::optim::Adam, torch::optim::AdamOptions>;
using AdamWStep = DirectStep<torch::optim::AdamW, torch::optim::AdamWOptions>;
using RmspropStep = DirectStep<torch::optim::RMSprop, torch::optim::RMSpropOptions>;
using AdagradStep = DirectStep<torch::optim::Adagrad, torch::optim::AdagradOptions>;
using LbfgsStep = DirectStep<torch::optim::LBFGS, torch::optim::LBFGSOptions>;

template <class... Steps>
void redirect_tables() {
  redirect_tables({{Steps::entry, Steps::table}...});
}

/// An optimizer that clears gradients is about to step; any origin.
void meet(Optimizer& optimizer) {
  if (!anybody_counts()) return;
  const auto attachments = WatchedModels::instance().of(optimizer);
  if (attachments.empty()) return note_other_optimizer(optimizer);
  redirect_table(optimizer);
  for (const auto& attachment : attachments) {
    attachment->notice_unseen_step();  // while the gradients still show it
    attachment->meet(optimizer);
  }
}

template <class Member>
struct ZeroGradTap;
template <class... Arguments>
struct ZeroGradTap<void (Optimizer::*)(Arguments...)> {
  static void tap(Optimizer* self, Arguments... arguments) {
    {
      const LoupeTime time;
      if (const ProgramHooks* hooks = program_hooks.load(std::memory_order_acquire)) hooks->before_clearing(*self);
      meet(*self);
    }
    self->zero_grad(arguments...);
  }
  static void declare() { declare_tap(member_address(&Optimizer::zero_grad), &tap); }
};

}  // namespace

void declare_optimizer_taps() {
  SgdStep::declare(torch::optim::SGDOptions(0.1));
  AdamStep::declare(torch::optim::AdamOptions());
  AdamWStep::declare(torch::optim::AdamWOptions());
  RmspropStep::declare(torch::optim::RMSpropOptions());
  AdagradStep::declare(torch::optim::AdagradOptions());
  LbfgsStep::declare(torch::optim::LBFGSOptions());
  ZeroGradTap<decltype(&Optimizer::zero_grad)>::declare();
}

bool any_step_runs() {
  return steps_of_all_threads.load() > 0;
}

bool may_step_unseen(const Optimizer& optimizer) {
  using namespace torch::optim;
  const auto is = [&](const std::type_info& type) { return typeid(optimizer) == type; };
  return !(is(typeid(SGD)) || is(typeid(Adam)) || is(typeid(AdamW)) || is(typeid(RMSprop)) || is(typeid(Adagrad)) ||
           is(typeid(LBFGS)));
}

void await_optimizers() {
  redirect_tables<SgdStep, AdamStep, AdamWStep, RmspropStep, AdagradStep, LbfgsStep>();
}

void await_optimizers(const std::shared_ptr<WatchedModel>& attachment) {
  auto& watched = WatchedModels::instance();
  {
    const std::lock_guard lock(watched.mutex);
    if (watched.forks.is_new_process()) watched.attachments.clear();
    const bool known = std::any_of(watched.attachments.begin(), watched.attachments.end(),
                                   [&](const auto& each) { return each.first == attachment.get(); });
    if (!known) watched.attachments.emplace_back(attachment.get(), attachment);
  }
  await_optimizers();
}

void tap_optimizer(Optimizer& optimizer, const std::shared_ptr<WatchedModel>& attachment) {
  await_optimizers(attachment);
  redirect_table(optimizer);
}

void forget_optimizers(const WatchedModel* attachment) {
  auto& watched = WatchedModels::instance();
  const std::lock_guard lock(watched.mutex);
  std::erase_if(watched.attachments, [&](const auto& each) { return each.first == attachment; });
}

}  // namespace loupe
