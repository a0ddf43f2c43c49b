#include "services/kept_states.h"

#include <torch/optim.h>

namespace loupe {

void each_state(const torch::optim::OptimizerParamState& state, TakeState take) {
  using namespace torch::optim;
  const auto each = [&](const std::string& name, const at::Tensor& tensor) {
    if (tensor.defined()) take(name, tensor);
  };
  const auto adaptive = [&](const auto& of) {
    each("exp_avg", of.exp_avg());
    each("exp_avg_sq", of.exp_avg_sq());
    each("max_exp_avg_sq", of.max_exp_avg_sq());
  };
  if (const auto* adam = dynamic_cast<const AdamParamState*>(&state)) {
    adaptive(*adam);
  } else if (const auto* adamw = dynamic_cast<const AdamWParamState*>(&state)) {
    adaptive(*adamw);
  } else if (const auto* sgd = dynamic_cast<const SGDParamState*>(&state)) {
    each("momentum_buffer", sgd->momentum_buffer());
  } else if (const auto* rmsprop = dynamic_cast<const RMSpropParamState*>(&state)) {
    each("square_avg", rmsprop->square_avg());
    each("momentum_buffer", rmsprop->momentum_buffer());
    each("grad_avg", rmsprop->grad_avg());
  } else if (const auto* adagrad = dynamic_cast<const AdagradParamState*>(&state)) {
    each("sum", adagrad->sum());
  } else if (const auto* lbfgs = dynamic_cast<const LBFGSParamState*>(&state)) {
    each("d", lbfgs->d());
    each("H_diag", lbfgs->H_diag());
    each("prev_flat_grad", lbfgs->prev_flat_grad());
    const auto list = [&](const std::string& name, const auto& tensors) {
      for (std::size_t i = 0; i < tensors.size(); ++i) each(name + "[" + std::to_string(i) + "]", tensors[i]);
    };
    list("old_dirs", lbfgs->old_dirs());
    list("old_stps", lbfgs->old_stps());
    list("ro", lbfgs->ro());
  }
}

}  // namespace loupe
