// Lends an optimizer's states of a parameter to components during its step.

#include <loupe/error.h>
#include <torch/optim.h>

#include <string>
#include <type_traits>

#include "services/kept_states.h"
#include "services/services.h"
#include "torch/taps/optimizer_reader.h"
#include "torch/tensor/tensor_view.h"

namespace loupe {
namespace {

/// The number of steps of the parameter; -1 if unknown.
int64_t steps_of(const torch::optim::OptimizerParamState& state) {
  using namespace torch::optim;
  if (const auto* adam = dynamic_cast<const AdamParamState*>(&state)) return adam->step();
  if (const auto* adamw = dynamic_cast<const AdamWParamState*>(&state)) return adamw->step();
  if (const auto* rmsprop = dynamic_cast<const RMSpropParamState*>(&state)) return rmsprop->step();
  if (const auto* adagrad = dynamic_cast<const AdagradParamState*>(&state)) return adagrad->step();
  return -1;
}

/// The state of a parameter; null if there is none.
template <class States>
const torch::optim::OptimizerParamState* kept_of(const States& states, const at::Tensor& parameter) {
  using Key = std::decay_t<decltype(states.begin()->first)>;
  const auto found = [&] {
    // Before LibTorch 2.0 (or so) the key is the address as a text.
    if constexpr (std::is_pointer_v<Key>) return states.find(parameter.unsafeGetTensorImpl());
    if constexpr (!std::is_pointer_v<Key>) return states.find(c10::str(parameter.unsafeGetTensorImpl()));
  }();
  return found != states.end() ? found->second.get() : nullptr;
}

loupe_status lend_states(void*, const loupe_tensor* parameter, loupe_draft_take_state take, void* context,
                         loupe_error* error) {
  return detail::guarded(error, [&] {
    if (take == nullptr) throw Error("an optimizer's states are requested with a null function", LOUPE_INVALID);
    const at::Tensor& tensor = native_tensor(parameter);
    const torch::optim::Optimizer* const stepped = stepped_optimizer();
    if (stepped == nullptr)
      throw Error("call this only inside step(): no optimizer steps at the moment", LOUPE_NOT_FOUND);
    bool any = false;
    const auto give = [&](const std::string& name, const at::Tensor& state) {
      const TorchTensorView view(state);
      if (view.readable()) take(context, name.c_str(), view.get());
      any = any || view.readable();
    };
    if (const torch::optim::OptimizerParamState* state = kept_of(stepped->state(), tensor)) {
      each_state(*state, give);
      if (const int64_t steps = steps_of(*state); steps >= 0) give("step", at::scalar_tensor(steps, at::kLong));
    }
    if (!any) throw Error("the optimizer that stepped has no state for this parameter", LOUPE_NOT_FOUND);
  });
}

loupe_status default_learning_rate(void*, double* rate, loupe_error* error) {
  return detail::guarded(error, [&] {
    if (rate == nullptr) throw Error("a learning rate is requested with a null pointer", LOUPE_INVALID);
    const torch::optim::Optimizer* const stepped = stepped_optimizer();
    if (stepped == nullptr)
      throw Error("call this only inside step(): no optimizer steps at the moment", LOUPE_NOT_FOUND);
    if (optimizer_type(*stepped) == "optimizer")
      throw Error("the optimizer that stepped does not have a type of LibTorch", LOUPE_NOT_FOUND);
    *rate = stepped->defaults().get_lr();
  });
}

}  // namespace

const loupe_draft_optimizer_state_service& optimizer_state_service() {
  static const loupe_draft_optimizer_state_service table = {.struct_size = sizeof(loupe_draft_optimizer_state_service),
                                                            .lend = &lend_states};
  return table;
}

const loupe_draft_optimizer_defaults_service& optimizer_defaults_service() {
  static const loupe_draft_optimizer_defaults_service table = {
      .struct_size = sizeof(loupe_draft_optimizer_defaults_service), .learning_rate = &default_learning_rate};
  return table;
}

}  // namespace loupe
