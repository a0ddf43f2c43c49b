#include "torch/taps/gradient_taps.h"

#include <torch/csrc/autograd/functions/accumulate_grad.h>

#include "torch/taps/leaf_gradients.h"
#include "torch/tensor/tensor_dispatch.h"
#include "torch/tensor/tensor_view.h"
#include "torch/tensor/unreadable.h"

namespace loupe {
namespace {

/// After a parameter's gradient was summed up. Owned by the accumulator's node, which keeps the parameter. It is never
/// taken off, for another thread may be going through the hooks: `active` decides.
class AccumulatedHook final : public torch::autograd::FunctionPostHook {
 public:
  AccumulatedHook(const at::Tensor* parameter, std::shared_ptr<ModuleNode> node, Stream& stream,
                  std::shared_ptr<const std::atomic<bool>> active)
      : parameter_(parameter), node_(std::move(node)), stream_(stream), active_(std::move(active)) {}

  torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs,
                                            const torch::autograd::variable_list&) override {
    const at::Tensor& gradient = parameter_->grad();
    if (active_->load(std::memory_order_relaxed) && gradient.defined()) {
      const TorchTensorView view(gradient);
      if (view.readable()) {
        stream_.dispatch(view.get(), training_flags);
      } else {
        tell_unreadable(gradient, stream_);
      }
    }
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
  // A leaf stays from pass to pass, as a learned prompt does; a hook a forward would pile up on it.
  if (tensor.is_leaf()) {
    const bool is_new = LeafGradients::instance().watch(tensor, point, stream, LeafGradients::Part::one_pass, flags);
    if (point.redirects || !is_new) return;
  }
  tensor.register_hook([node = point.node, active = point.active, &stream, flags](const at::Tensor& gradient) {
    if (!gradient.defined() || !active->load(std::memory_order_relaxed)) return;
    const TorchTensorView view(gradient);
    if (view.readable()) {
      stream.dispatch(view.get(), flags);
    } else {
      tell_unreadable(gradient, stream);
    }
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

void watch_replaced(TapPoint& point, ParameterTap& tap, const at::Tensor& old) {
  if (tap.gradient != nullptr) LeafGradients::instance().forget(old, *tap.gradient);
  watch_parameters(point);
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
