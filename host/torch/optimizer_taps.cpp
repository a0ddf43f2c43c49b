#include "torch/optimizer_taps.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "torch/attachment.h"
#include "torch/compat.h"
#include "torch/redirections.h"

namespace loupe {
namespace {

using torch::optim::Optimizer;
using Closure = Optimizer::LossClosure;
using Step = at::Tensor (*)(Optimizer*, Closure);

/// Which attachments wait for which optimizer, and what the virtual tables held before.
struct Watched {
  std::mutex mutex;
  std::unordered_map<void**, Step> originals;
  std::vector<std::pair<const Optimizer*, std::weak_ptr<Attachment>>> attachments;

  static Watched& instance() {
    static auto* watched = new Watched();  // taps may outlive static destruction
    return *watched;
  }
  /// Those attached with the optimizer, or with one that held the same parameters: trainers make a new one half way.
  c10::SmallVector<std::shared_ptr<Attachment>, 4> of(const Optimizer* optimizer) {
    const c10::TensorImpl* first = first_parameter(*optimizer);
    const std::lock_guard lock(mutex);
    c10::SmallVector<std::shared_ptr<Attachment>, 4> found;
    for (const auto& [watched, attachment] : attachments) {
      auto alive = attachment.lock();
      if (alive == nullptr) continue;
      if (watched == optimizer || (first != nullptr && alive->first_optimizer_parameter() == first)) {
        found.push_back(std::move(alive));
      }
    }
    return found;
  }
};

thread_local int steps_running = 0;

template <class Call>
at::Tensor around_step(Optimizer* optimizer, Call&& call) {
  // One step may run another inside (a wrapper, a closure): only the outermost counts.
  if (active_attachments.load(std::memory_order_relaxed) == 0 || steps_running > 0) return call();
  const auto attachments = Watched::instance().of(optimizer);
  if (attachments.empty()) return call();
  for (const auto& attachment : attachments) attachment->before_step(*optimizer);
  ++steps_running;
  at::Tensor result;
  try {
    result = call();
  } catch (...) {
    --steps_running;
    throw;
  }
  --steps_running;
  for (const auto& attachment : attachments) attachment->after_step();
  return result;
}

at::Tensor virtual_step(Optimizer* self, Closure closure) {
  Step original = nullptr;
  {
    auto& watched = Watched::instance();
    const std::lock_guard lock(watched.mutex);
    original = watched.originals.at(*reinterpret_cast<void***>(self));
  }
  return around_step(self, [&] { return original(self, std::move(closure)); });
}

void** entry_of_step(Optimizer& optimizer) {
  const auto member = &Optimizer::step;
  std::uintptr_t offset = 0;
  std::memcpy(&offset, &member, sizeof offset);  // a virtual member's pointer: the offset in the table, plus 1
  return *reinterpret_cast<void***>(&optimizer) + (offset - 1) / sizeof(void*);
}

/// A direct call of a LibTorch optimizer's step, which the compiler makes where it knows the type.
template <class Type, class Options>
struct DirectStep {
  static inline at::Tensor (*real)(Type*, Closure) = nullptr;
  static at::Tensor tap(Type* self, Closure closure) {
    return around_step(self, [&] { return real(self, std::move(closure)); });
  }
  static void declare(const Options& options) {
    // The optimizer's table holds the address; a virtual member's pointer does not.
    Type optimizer(std::vector<at::Tensor>{at::zeros({1})}, options);
    void** entry = entry_of_step(optimizer);
    std::memcpy(&real, entry, sizeof real);
    Redirections::instance().declare(symbol_of(*entry), reinterpret_cast<void*>(&tap), false);
  }
};

}  // namespace

void declare_optimizer_taps() {
  DirectStep<torch::optim::SGD, torch::optim::SGDOptions>::declare(torch::optim::SGDOptions(0.1));
  DirectStep<torch::optim::Adam, torch::optim::AdamOptions>::declare(torch::optim::AdamOptions());
  DirectStep<torch::optim::AdamW, torch::optim::AdamWOptions>::declare(torch::optim::AdamWOptions());
  DirectStep<torch::optim::RMSprop, torch::optim::RMSpropOptions>::declare(torch::optim::RMSpropOptions());
  DirectStep<torch::optim::Adagrad, torch::optim::AdagradOptions>::declare(torch::optim::AdagradOptions());
  DirectStep<torch::optim::LBFGS, torch::optim::LBFGSOptions>::declare(torch::optim::LBFGSOptions());
}

const c10::TensorImpl* first_parameter(const Optimizer& optimizer) {
  const auto& groups = optimizer.param_groups();
  return groups.empty() || groups[0].params().empty() ? nullptr : groups[0].params()[0].unsafeGetTensorImpl();
}

bool may_step_unseen(const Optimizer& optimizer) {
  using namespace torch::optim;
  const auto is = [&](const std::type_info& type) { return typeid(optimizer) == type; };
  return !(is(typeid(SGD)) || is(typeid(Adam)) || is(typeid(AdamW)) || is(typeid(RMSprop)) || is(typeid(Adagrad)) ||
           is(typeid(LBFGS)));
}

void tap_optimizer(Optimizer& optimizer, const std::shared_ptr<Attachment>& attachment) {
  auto& watched = Watched::instance();
  void** entry = entry_of_step(optimizer);
  {
    const std::lock_guard lock(watched.mutex);
    watched.attachments.emplace_back(&optimizer, attachment);
    if (*entry != reinterpret_cast<void*>(&virtual_step)) {
      watched.originals[*reinterpret_cast<void***>(&optimizer)] = reinterpret_cast<Step>(*entry);
    }
  }
  Redirections::instance().redirect_entry(entry, reinterpret_cast<void*>(&virtual_step));
}

void forget_optimizer(const Attachment* attachment) {
  auto& watched = Watched::instance();
  const std::lock_guard lock(watched.mutex);
  std::erase_if(watched.attachments, [&](const auto& each) {
    const auto alive = each.second.lock();
    return alive == nullptr || alive.get() == attachment;
  });
}

}  // namespace loupe
