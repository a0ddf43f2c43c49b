#include "torch/taps/gradient_taps.h"

#include <torch/csrc/autograd/functions/accumulate_grad.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <utility>

#include "core/work.h"
#include "torch/model/registry.h"
#include "torch/redirect/redirections.h"
#include "torch/taps/early_clips.h"
#include "torch/tensor/tensor_dispatch.h"
#include "torch/tensor/tensor_view.h"

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

/// The entry of the function in the virtual table of all nodes that add up gradients.
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
  Redirections::instance().redirect_entries({entry}, reinterpret_cast<void*>(&LeafGradients::tap));
}

bool LeafGradients::watch(const at::Tensor& leaf, const ResultPoint& point, Stream& stream, Part part, uint32_t flags,
                          std::shared_ptr<KeptGradient> kept) {
  const std::lock_guard lock(mutex_);
  if (forks_.is_new_process()) leave_to_parent(std::make_shared<decltype(leaves_)>(std::exchange(leaves_, {})));
  if (leaves_.size() >= sweep_at_) drop_dead_leaves();
  const auto known = leaves_.find(leaf.unsafeGetTensorImpl());
  // If a leaf died, its address belongs to the new one.
  if (known != leaves_.end() && known->second.tensor.expired()) leaves_.erase(known);
  const auto [entry, is_new] =
      leaves_.try_emplace(leaf.unsafeGetTensorImpl(), Leaf{WeakTensor(leaf.getIntrusivePtr()), {}});
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
  erase_where(found->second.watches, [&](const auto& each) { return each->stream == &stream; });
  if (found->second.watches.empty()) leaves_.erase(found);
}

void LeafGradients::forget_all(const std::atomic<bool>* active) {
  const std::lock_guard lock(mutex_);
  for (auto leaf = leaves_.begin(); leaf != leaves_.end();) {
    erase_where(leaf->second.watches, [&](const auto& each) { return each->active.get() == active; });
    leaf = leaf->second.watches.empty() ? leaves_.erase(leaf) : std::next(leaf);
  }
}

void LeafGradients::drop_dead_leaves() {
  std::erase_if(leaves_, [](const auto& leaf) { return leaf.second.tensor.expired(); });
  sweep_at_ = std::max<std::size_t>(64, 2 * leaves_.size());
}

/// Copies the watches, so that no lens runs under the lock.
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
  std::optional<LoupeTime> time(std::in_place);
  for (const auto& each : watches) {
    if (!each->stream->resting()) each->stream->fetch();
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
    if (was_clipped_early(self->variable.grad())) each_kept(&KeptGradient::clipped_early);
  }
  time.reset();
  variable_list result = real_apply.load(std::memory_order_acquire)(self, std::move(gradients));
  // Meanwhile no other thread may add to the sum, or replace it.
  const std::lock_guard lock(Access::mutex_of(*self));
  time.emplace();
  each_kept(&KeptGradient::after_sum);
  for (const auto& each : watches) {
    if (each->part == Part::sum) dispatch_tensor(each->stream, self->variable.grad(), each->flags);
  }
  return result;
}

namespace {

/// Runs after a parameter's gradient was summed up. Owned by the accumulator's node, which keeps the parameter. It is
/// never removed, since another thread may be running the hooks: `active` decides.
class AccumulatedHook final : public torch::autograd::FunctionPostHook {
 public:
  AccumulatedHook(const at::Tensor* parameter, std::shared_ptr<ModuleNode> node, Stream& stream,
                  std::shared_ptr<const std::atomic<bool>> active)
      : parameter_(parameter), node_(std::move(node)), stream_(stream), active_(std::move(active)) {}

  torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs,
                                            const torch::autograd::variable_list&) override {
    if (active_->load(std::memory_order_relaxed)) dispatch_tensor(&stream_, parameter_->grad(), training_flags);
    return outputs;
  }

 private:
  const at::Tensor* parameter_;
  std::shared_ptr<ModuleNode> node_;  // the stream lives in it
  Stream& stream_;
  std::shared_ptr<const std::atomic<bool>> active_;
};

void lay_hook(const TapPoint& point, ParameterTap& tap) {
  tap.accumulator = torch::autograd::impl::grad_accumulator(tap.tensor);
  auto* node = dynamic_cast<torch::autograd::AccumulateGrad*>(tap.accumulator.get());
  if (node == nullptr) return;
  tap.accumulator->add_post_hook(
      std::make_unique<AccumulatedHook>(&node->variable, point.node, *tap.gradient, point.active));
  tap.hooked_keys = tap.tensor.key_set();
  tap.hooked_type = tap.tensor.scalar_type();
}

}  // namespace

void watch_gradient(const at::Tensor& tensor, const ResultPoint& point, Stream& stream, uint32_t flags) {
  if (stream.resting() || !tensor.requires_grad() || !at::GradMode::is_enabled()) return;
  // A leaf lives over many passes, such as a learned prompt; hooks of each forward would pile up on it.
  if (tensor.is_leaf()) {
    const bool is_new = LeafGradients::instance().watch(tensor, point, stream, LeafGradients::Part::one_pass, flags);
    if (point.redirects || !is_new) return;
  }
  tensor.register_hook([node = point.node, active = point.active, &stream, flags](const at::Tensor& gradient) {
    if (active->load(std::memory_order_relaxed)) dispatch_tensor(&stream, gradient, flags);
  });
}

void watch_parameters(TapPoint& point) {
  if (!point.has_gradient_streams) return;
  if (!point.redirects) return keep_hooks(point);
  for (ParameterTap& tap : point.parameters) {
    if (tap.gradient == nullptr) continue;
    if (tap.step != nullptr && tap.kept_gradient == nullptr) tap.kept_gradient = std::make_shared<KeptGradient>();
    LeafGradients::instance().watch(tap.tensor, point, *tap.gradient, LeafGradients::Part::sum, training_flags,
                                    tap.kept_gradient);
  }
}

void keep_hooks(TapPoint& point) {
  if (point.redirects || !point.has_gradient_streams) return;
  const std::lock_guard lock(point.node->mutex());
  for (ParameterTap& tap : point.parameters) {
    if (tap.gradient == nullptr || !tap.tensor.requires_grad()) continue;
    // Moving a parameter to another device or type gives it a new accumulator.
    const bool same = tap.accumulator != nullptr && tap.hooked_keys == tap.tensor.key_set() &&
                      tap.hooked_type == tap.tensor.scalar_type();
    if (!same && tap.tensor.is_leaf()) lay_hook(point, tap);
  }
}

}  // namespace loupe
