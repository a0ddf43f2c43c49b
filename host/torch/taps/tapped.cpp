#include "loupe/tapped.h"

#include <new>

#include "torch/taps/forward_scope.h"

namespace loupe::host_detail {

TappedMark::~TappedMark() = default;

struct TappedForward::State {
  State(torch::nn::Module* module, const CallSite& site) : scope(module, site) {}
  ForwardScope scope;
  TensorList inputs, outputs;
};

TappedForward::State& TappedForward::state() {
  return *std::launder(reinterpret_cast<State*>(memory_));
}

TappedForward::TappedForward(const torch::nn::Module* module) {
  static_assert(sizeof(State) <= sizeof memory_ && alignof(State) <= 16, "the header keeps room for a State");
  if (active_attachments.load(std::memory_order_relaxed) == 0) return;
  new (memory_)
      State(const_cast<torch::nn::Module*>(module), LOUPE_CALL_SITE);  // a const forward; only told apart and read here
  watched_ = state().scope.watched();
  if (!watched_) state().~State();
}

TappedForward::~TappedForward() {
  if (watched_) state().~State();
}

void TappedForward::input(const at::Tensor& tensor) {
  collect(state().inputs, tensor);
}

void TappedForward::entered() {
  state().scope.enter_tensors(state().inputs);
}

void TappedForward::output(const at::Tensor& tensor) {
  collect(state().outputs, tensor);
}

void TappedForward::left() {
  state().scope.leave_tensors(state().outputs);
}

}  // namespace loupe::host_detail
