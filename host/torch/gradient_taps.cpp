#include "torch/gradient_taps.h"

#include "torch/tensor_view.h"

namespace loupe {
namespace {

/// After a parameter's gradient was accumulated. Owned by the accumulator's node, which keeps the parameter.
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
      if (view.readable()) stream_.dispatch(view.get(), LOUPE_EVENT_TRAINING | LOUPE_EVENT_GRAD_ENABLED);
    }
    return outputs;
  }

 private:
  const at::Tensor* parameter_;
  std::shared_ptr<ModuleNode> node_;  // the stream lives in it
  Stream& stream_;
  std::shared_ptr<const std::atomic<bool>> active_;
};

void remove_hook(ParameterTap& tap) {
  if (tap.hook != 0) tap.accumulator->del_post_hook(tap.hook);
  tap.hook = 0;
  tap.accumulator = nullptr;
}

void lay_hook(const TapPoint& point, ParameterTap& tap) {
  remove_hook(tap);
  tap.accumulator = torch::autograd::impl::grad_accumulator(tap.tensor);
  auto* node = dynamic_cast<torch::autograd::AccumulateGrad*>(tap.accumulator.get());
  if (node == nullptr) return;
  tap.hook = tap.accumulator->add_post_hook(
      std::make_unique<AccumulatedHook>(&node->variable, point.node, *tap.gradient, point.active));
  tap.hooked_keys = tap.tensor.key_set();
  tap.hooked_type = tap.tensor.scalar_type();
}

}  // namespace

void watch_gradient(const at::Tensor& tensor, const std::shared_ptr<ModuleNode>& node, Stream& stream, uint32_t flags) {
  if (!tensor.requires_grad() || !at::GradMode::is_enabled()) return;
  tensor.register_hook([node, &stream, flags](const at::Tensor& gradient) {
    if (!gradient.defined()) return;
    const TorchTensorView view(gradient);
    if (view.readable()) stream.dispatch(view.get(), flags);
  });
}

void keep_hooks(TapPoint& point) {
  if (!point.has_gradient_streams) return;
  const std::lock_guard lock(point.node->mutex());
  for (ParameterTap& tap : point.parameters) {
    if (tap.gradient == nullptr || !tap.tensor.requires_grad()) continue;
    // Moving a parameter to another device or type gives it a new accumulator.
    const bool same =
        tap.hook != 0 && tap.hooked_keys == tap.tensor.key_set() && tap.hooked_type == tap.tensor.scalar_type();
    if (!same && tap.tensor.is_leaf()) lay_hook(point, tap);
  }
}

void remove_hooks(TapPoint& point) {
  const std::lock_guard lock(point.node->mutex());
  for (ParameterTap& tap : point.parameters) remove_hook(tap);
}

}  // namespace loupe
