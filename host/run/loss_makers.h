#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "torch/tensor/compat.h"

namespace loupe {

/// How a number was computed that backward() is called on.
struct MadeLoss {
  /// The loss function of LibTorch's whose result it is, but for constant factors, and that result; null where it is
  /// made of more than that.
  const char* function = nullptr;
  at::Tensor result;
  bool has_factors = false;
  /// What it was multiplied by at last, where that is a constant above 1, and what it was before; else 1, and itself.
  double scale = 1;
  at::Tensor unscaled;
};

/// Remembers what loss functions gave, and finds it again in the graph of what backward() is called on. One thread at a
/// time.
class LossMakers {
 public:
  /// A loss function gave a number that has a graph.
  void computed(const at::Tensor& result, const char* function);
  MadeLoss of(const at::Tensor& loss) const;

 private:
  struct Given {
    WeakNodeHandle node;
    at::Tensor result;
    const char* function;
  };
  std::deque<Given> given_;  // the latest
};

/// A parameter that a loss depends on.
struct LossLeaf {
  const c10::TensorImpl* parameter;  // only to compare with
  std::vector<int64_t> shape;
};
/// Those of its graph, as far as that is looked through.
std::vector<LossLeaf> leaves_of(const at::Tensor& loss);

/// The same for two calls of backward() on one loss, as in both arms of an `if`: of the operations that it was computed
/// by last, and the parameter nearest to it.
std::uint64_t signature_of(const at::Tensor& loss);

}  // namespace loupe
