#include "torch/taps/optimizer_states.h"

#include <torch/optim.h>

#include <string>
#include <type_traits>
#include <utility>

#include "torch/tensor/retained_tensor.h"

namespace loupe {
namespace {

using torch::optim::Optimizer;

thread_local const Optimizer* stepped_here = nullptr;

/// Calls with the name of each tensor that is kept of a parameter, and with it.
template <class Call>
void each_state(const torch::optim::OptimizerParamState& state, Call&& call) {
  using namespace torch::optim;
  const auto each = [&](const std::string& name, const at::Tensor& tensor) {
    if (tensor.defined()) call(name, tensor);
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

/// How often it has stepped; -1 where that is not kept.
int64_t steps_of(const torch::optim::OptimizerParamState& state) {
  using namespace torch::optim;
  if (const auto* adam = dynamic_cast<const AdamParamState*>(&state)) return adam->step();
  if (const auto* adamw = dynamic_cast<const AdamWParamState*>(&state)) return adamw->step();
  if (const auto* rmsprop = dynamic_cast<const RMSpropParamState*>(&state)) return rmsprop->step();
  if (const auto* adagrad = dynamic_cast<const AdagradParamState*>(&state)) return adagrad->step();
  return -1;
}

/// What is kept of a parameter; null where nothing is.
template <class States>
const torch::optim::OptimizerParamState* kept_of(const States& states, const at::Tensor& parameter) {
  using Key = std::decay_t<decltype(states.begin()->first)>;
  const auto found = [&] {
    // Before LibTorch 2.0 (or so) the address as a text.
    if constexpr (std::is_pointer_v<Key>) return states.find(parameter.unsafeGetTensorImpl());
    if constexpr (!std::is_pointer_v<Key>) return states.find(c10::str(parameter.unsafeGetTensorImpl()));
  }();
  return found != states.end() ? found->second.get() : nullptr;
}

loupe_status lend_states(void*, const loupe_tensor* parameter, loupe_draft_take_state take, void* context,
                         loupe_error* error) {
  return detail::guarded(error, [&] {
    if (take == nullptr)
      throw Error("an optimizer's states are asked for without a function that takes them", LOUPE_INVALID);
    const at::Tensor& tensor = native_tensor(parameter);
    if (stepped_here == nullptr) throw Error("no step is told at the moment whose optimizer is seen", LOUPE_NOT_FOUND);
    bool any = false;
    const auto give = [&](const std::string& name, const at::Tensor& state) {
      const TorchTensorView view(state);
      if (view.readable()) take(context, name.c_str(), view.get());
      any = any || view.readable();
    };
    if (const torch::optim::OptimizerParamState* state = kept_of(stepped_here->state(), tensor)) {
      each_state(*state, give);
      if (const int64_t steps = steps_of(*state); steps >= 0) give("step", at::scalar_tensor(steps, at::kLong));
    }
    if (!any) throw Error("the optimizer that stepped keeps nothing of this parameter", LOUPE_NOT_FOUND);
  });
}

}  // namespace

SteppedOptimizer::SteppedOptimizer(const Optimizer& optimizer) : before_(std::exchange(stepped_here, &optimizer)) {}
SteppedOptimizer::~SteppedOptimizer() {
  stepped_here = before_;
}

const loupe_draft_optimizer_state_service& optimizer_state_service() {
  static const loupe_draft_optimizer_state_service table = {.struct_size = sizeof(loupe_draft_optimizer_state_service),
                                                            .lend = &lend_states};
  return table;
}

double state_bytes(const Optimizer& optimizer) {
  double sum = 0;
  for (const auto& [parameter, state] : optimizer.state()) {
    if (state == nullptr) continue;
    each_state(*state, [&](const std::string&, const at::Tensor& tensor) {
      sum += static_cast<double>(tensor.numel()) * static_cast<double>(tensor.element_size());
    });
  }
  return sum;
}

}  // namespace loupe
