#include "torch/tensor/loss_in_view.h"

#include <mutex>
#include <optional>
#include <thread>

namespace loupe {
namespace {

thread_local const at::Tensor* in_view = nullptr;

struct LastLoss {
  std::mutex mutex;
  std::thread::id thread;
  std::optional<WeakNodeHandle> graph;
};
LastLoss& last_loss() {
  static auto& last = *new LastLoss();
  return last;
}

}  // namespace

LossInView::LossInView(const at::Tensor& loss) {
  in_view = &loss;
  if (loss.grad_fn() == nullptr) return;
  // Where another thread shows one, or a fork caught it at that, this one is not remembered.
  const std::unique_lock lock(last_loss().mutex, std::try_to_lock);
  if (!lock) return;
  last_loss().thread = std::this_thread::get_id();
  last_loss().graph.emplace(loss.grad_fn());
}

LossInView::~LossInView() {
  in_view = nullptr;
}

const at::Tensor* loss_in_view() {
  return in_view;
}

NodeHandle last_graph_here() {
  const std::unique_lock lock(last_loss().mutex, std::try_to_lock);
  if (!lock || !last_loss().graph || last_loss().thread != std::this_thread::get_id()) return {};
  return last_loss().graph->lock();
}

}  // namespace loupe
