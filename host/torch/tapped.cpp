#include "loupe/tapped.h"

#include "torch/forward_scope.h"

namespace loupe::detail {

TappedMark::~TappedMark() = default;

struct TappedForward::State {
  explicit State(torch::nn::Module* module) : scope(module) {}
  ForwardScope scope;
  TensorList inputs, outputs;
};

TappedForward::TappedForward(torch::nn::Module* module) {
  if (active_attachments.load(std::memory_order_relaxed) == 0) return;
  state_ = std::make_unique<State>(module);
  if (!state_->scope.watched()) state_.reset();
}

TappedForward::~TappedForward() = default;

void TappedForward::input(const at::Tensor& tensor) {
  if (state_) collect(state_->inputs, tensor);
}

void TappedForward::entered() {
  if (state_) state_->scope.enter_tensors(state_->inputs);
}

void TappedForward::output(const at::Tensor& tensor) {
  if (state_) collect(state_->outputs, tensor);
}

void TappedForward::left() {
  if (state_) state_->scope.leave_tensors(state_->outputs);
}

}  // namespace loupe::detail
