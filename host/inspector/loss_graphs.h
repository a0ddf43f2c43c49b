#pragma once

#include <cstddef>
#include <vector>

#include "torch/tensor/compat.h"

namespace loupe {

/// Whether the graphs of earlier losses are still there, as where losses are summed without item(), or outputs are
/// kept. One thread at a time.
class LossGraphs {
 public:
  static constexpr std::size_t looked_back = 64;

  /// Takes the loss of one more batch. True, once, where each of the last `looked_back` graphs is still alive: as a
  /// whole, or what the model's output was computed by.
  bool add(const at::Tensor& loss);
  /// By how many bytes the process has grown since `add` looked first; 0 where that is not known.
  double growth() const { return growth_; }

 private:
  struct Graph {
    WeakNodeHandle node;
    const void* address;  // only to compare with
  };
  std::vector<Graph> graphs_;
  double first_bytes_ = 0, growth_ = 0;
  std::size_t count_ = 0;
  bool told_ = false;
};

}  // namespace loupe
