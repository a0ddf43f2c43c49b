#include "torch/taps/leaf_gradients.h"

#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <utility>

#include "torch/model/registry.h"
#include "torch/redirect/redirections.h"
#include "torch/redirect/virtual_entry.h"
#include "torch/tensor/tensor_dispatch.h"

namespace loupe {
namespace {

using torch::autograd::AccumulateGrad;
using torch::autograd::variable_list;

using Apply = variable_list (*)(AccumulateGrad*, variable_list&&);
std::atomic<Apply> real_apply{nullptr};

/// The node's mutex is protected; a derived class may name it.
struct Access : AccumulateGrad {
  static std::mutex& mutex_of(AccumulateGrad& node) { return node.*(&Access::mutex_); }
};

/// Where the table of all nodes that add up gradients holds the function.
void** entry_of_apply() {
  const AccumulateGrad node(at::zeros({1}).requires_grad_());
  return virtual_entry(&node, &AccumulateGrad::apply);
}

}  // namespace

LeafGradients& LeafGradients::instance() {
  static auto* leaves = new LeafGradients();  // taps may outlive static destruction
  return *leaves;
}

void LeafGradients::redirect() {
  static void** const entry = [] {
    void** found = entry_of_apply();
    Apply apply = nullptr;
    std::memcpy(&apply, found, sizeof apply);
    real_apply.store(apply, std::memory_order_release);
    return found;
  }();
  Redirections::instance().redirect_entry(entry, reinterpret_cast<void*>(&LeafGradients::tap));
}

bool LeafGradients::watch(const at::Tensor& leaf, const ResultPoint& point, Stream& stream, Part part, uint32_t flags,
                          std::shared_ptr<KeptGradient> kept) {
  const std::lock_guard lock(mutex_);
  if (forks_.is_new_process()) leave_to_parent(std::make_shared<decltype(leaves_)>(std::exchange(leaves_, {})));
  if (leaves_.size() >= sweep_at_) drop_dead_leaves();
  const auto known = leaves_.find(leaf.unsafeGetTensorImpl());
  // An address whose leaf died belongs to the new one.
  if (known != leaves_.end() && known->second.tensor.expired()) leaves_.erase(known);
  const auto [entry, is_new] =
      leaves_.try_emplace(leaf.unsafeGetTensorImpl(), Leaf{decltype(Leaf::tensor)(leaf.getIntrusivePtr()), {}});
  for (std::shared_ptr<const Watch>& each : entry->second.watches) {
    if (each->stream != &stream) continue;
    if (each->flags == flags) return false;
    Watch changed = *each;
    changed.flags = flags;
    each = std::make_shared<const Watch>(std::move(changed));
    return false;
  }
  entry->second.watches.push_back(std::make_shared<const Watch>(
      Watch{point.node, point.active, &stream, part, flags, point.redirects, std::move(kept)}));
  return true;
}

void LeafGradients::forget(const at::Tensor& leaf, const Stream& stream) {
  const std::lock_guard lock(mutex_);
  const auto found = leaves_.find(leaf.unsafeGetTensorImpl());
  if (found == leaves_.end()) return;
  Watches& watches = found->second.watches;
  watches.erase(
      std::remove_if(watches.begin(), watches.end(), [&](const auto& each) { return each->stream == &stream; }),
      watches.end());
  if (watches.empty()) leaves_.erase(found);
}

void LeafGradients::forget_all(const std::atomic<bool>* active) {
  const std::lock_guard lock(mutex_);
  for (auto leaf = leaves_.begin(); leaf != leaves_.end();) {
    Watches& watches = leaf->second.watches;
    watches.erase(
        std::remove_if(watches.begin(), watches.end(), [&](const auto& each) { return each->active.get() == active; }),
        watches.end());
    leaf = watches.empty() ? leaves_.erase(leaf) : std::next(leaf);
  }
}

std::size_t LeafGradients::size() const {
  const std::lock_guard lock(mutex_);
  return leaves_.size();
}

void LeafGradients::drop_dead_leaves() {
  std::erase_if(leaves_, [](const auto& leaf) { return leaf.second.tensor.expired(); });
  sweep_at_ = std::max<std::size_t>(64, 2 * leaves_.size());
}

/// Copied, so that no lens runs under the lock.
bool LeafGradients::of(const at::Tensor& leaf, Watches& found) const {
  const std::lock_guard lock(mutex_);
  const auto known = leaves_.find(leaf.unsafeGetTensorImpl());
  if (known == leaves_.end()) return false;
  for (const auto& each : known->second.watches) {
    if (each->redirected && each->active->load(std::memory_order_relaxed)) found.push_back(each);
  }
  return !found.empty();
}

variable_list LeafGradients::tap(AccumulateGrad* self, variable_list&& gradients) {
  Watches watches;
  if (active_attachments.load(std::memory_order_relaxed) == 0 || !instance().of(self->variable, watches))
    return real_apply.load(std::memory_order_acquire)(self, std::move(gradients));
  for (const auto& each : watches) {
    if (each->part == Part::one_pass && !gradients.empty()) dispatch_tensor(each->stream, gradients[0], each->flags);
  }
  bool any_kept = false;
  for (const auto& each : watches) any_kept = any_kept || each->kept != nullptr;
  const auto each_kept = [&](void (KeptGradient::*call)(const at::Tensor&)) {
    for (const auto& each : watches) {
      if (each->kept != nullptr) (*each->kept.*call)(self->variable.grad());
    }
  };
  if (any_kept) {
    const std::lock_guard lock(Access::mutex_of(*self));
    each_kept(&KeptGradient::before_sum);
  }
  variable_list result = real_apply.load(std::memory_order_acquire)(self, std::move(gradients));
  // Meanwhile no other thread may add to the sum, or replace it.
  const std::lock_guard lock(Access::mutex_of(*self));
  each_kept(&KeptGradient::after_sum);
  for (const auto& each : watches) {
    if (each->part == Part::sum) dispatch_tensor(each->stream, self->variable.grad(), each->flags);
  }
  return result;
}

}  // namespace loupe
