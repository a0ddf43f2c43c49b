#include "torch/tensor/loss_in_view.h"

#include <optional>

#include "core/threads.h"

namespace loupe {
namespace {

thread_local const at::Tensor* in_view = nullptr;

std::optional<WeakNodeHandle>& last_graph() {
  return ThreadOwn<std::optional<WeakNodeHandle>>::get();
}

}  // namespace

LossInView::LossInView(const at::Tensor& loss) {
  in_view = &loss;
  if (loss.grad_fn() != nullptr) last_graph().emplace(loss.grad_fn());
}

LossInView::~LossInView() {
  in_view = nullptr;
}

const at::Tensor* loss_in_view() {
  return in_view;
}

NodeHandle last_graph_here() {
  return last_graph() ? last_graph()->lock() : NodeHandle();
}

}  // namespace loupe
