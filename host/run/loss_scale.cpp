#include "run/loss_scale.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/optim/optimizer.h>
#include <cmath>

namespace loupe {
namespace {

double size_of(const at::Tensor& gradient) {
  if (!gradient.defined() || gradient.is_sparse()) return 0;
  const at::NoGradGuard no_graph;
  return gradient.detach().to(at::kDouble).abs().sum().item<double>();
}

}  // namespace

bool LossScale::is_likely(double scale) {
  constexpr double usual = 64;
  return scale >= usual;
}

at::Tensor LossScale::watched() const {
  auto alive = parameter_ ? parameter_->lock() : c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>();
  return alive.defined() ? at::Tensor(std::move(alive)) : at::Tensor();
}

void LossScale::after_backward() {
  if (is_divided_out_ || waiting_.empty()) return;
  const at::Tensor parameter = watched();
  if (parameter.defined()) as_made_ = size_of(parameter.grad());
}

void LossScale::before_step(const torch::optim::Optimizer& optimizer) {
  constexpr double rounding = 1e-2;
  if (is_divided_out_ || waiting_.empty()) return;
  const at::Tensor parameter = watched();
  if (parameter.defined() && as_made_ && std::isfinite(*as_made_) && *as_made_ > 0) {
    bool is_held = false;
    for (const auto& group : optimizer.param_groups()) {
      for (const at::Tensor& each : group.params()) is_held = is_held || each.is_same(parameter);
    }
    if (!is_held) return;
    const double scale = waiting_.back().made.scale, kept = size_of(parameter.grad()) / *as_made_ * scale;
    // Clipping may come on top of it, which makes gradients smaller still.
    const bool is_divided = std::abs(kept - 1) < rounding || (is_likely(scale) && kept < 1);
    // A copy of the parameters in single precision gets its gradients only now.
    const bool is_copy = is_likely(scale) && *as_made_ == at_step_;
    is_divided_out_ = is_divided || is_copy;
    return;
  }
  for (const auto& group : optimizer.param_groups()) {
    for (const at::Tensor& each : group.params()) {
      const double size = size_of(each.grad());
      if (!(size > 0) || !std::isfinite(size)) continue;
      parameter_.emplace(each.getIntrusivePtr());
      at_step_ = size;
      return;
    }
  }
}

}  // namespace loupe
