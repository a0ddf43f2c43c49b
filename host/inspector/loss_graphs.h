#ifndef LOUPE_INSPECTOR_LOSS_GRAPHS_H
#define LOUPE_INSPECTOR_LOSS_GRAPHS_H

#include <cstddef>
#include <vector>

#include "torch/tensor/compat.h"

namespace loupe {

/// Whether the graphs of earlier losses are still there, as where losses are summed without item(). One thread at a
/// time.
class LossGraphs {
 public:
  static constexpr std::size_t looked_back = 64;

  /// Takes the loss of one more batch. True, once, where each of the last `looked_back` graphs is still alive.
  bool add(const at::Tensor& loss);

 private:
  std::vector<WeakNodeHandle> graphs_;
  std::size_t count_ = 0;
  bool told_ = false;
};

}  // namespace loupe

#endif
