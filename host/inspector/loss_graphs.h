#ifndef LOUPE_INSPECTOR_LOSS_GRAPHS_H
#define LOUPE_INSPECTOR_LOSS_GRAPHS_H

#include <array>
#include <cstddef>
#include <memory>

namespace at {
class Tensor;
}
namespace torch::autograd {
struct Node;
}

namespace loupe {

/// Whether the graphs of earlier losses are still there, as where losses are summed without item(). One thread at a
/// time.
class LossGraphs {
 public:
  static constexpr std::size_t looked_back = 64;

  /// Takes the loss of one more batch. True, once, where each of the last `looked_back` graphs is still alive.
  bool add(const at::Tensor& loss);

 private:
  std::array<std::weak_ptr<torch::autograd::Node>, looked_back> graphs_;
  std::size_t next_ = 0;
  bool told_ = false;
};

}  // namespace loupe

#endif
