#pragma once

#include <torch/nn/module.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "run/model_search.h"
#include "torch/model/module_types.h"
#include "torch/tensor/compat.h"

namespace torch::optim {
class Optimizer;
}

namespace loupe {

/// A tensor that an optimizer holds but no module does, and its place in the optimizer.
struct BareParameter {
  const torch::optim::Optimizer* optimizer;  // only to compare with
  std::size_t group, index;
  at::Tensor tensor;
};
/// All parameters of an optimizer for which `is_bare` is true.
std::vector<BareParameter> bare_parameters(const torch::optim::Optimizer& optimizer,
                                           const std::function<bool(const at::Tensor&)>& is_bare);

/// A model of such tensors, which can be attached. It has no forward. If a program replaces a tensor by a longer one,
/// as programs of splatting do, the new one has the name of the old one. One thread at a time.
class BareModel : public torch::nn::Module, public HasVisibility {
 public:
  BareModel();

  /// Names it by its shape, as "Nx3" for rows of three.
  void take(const BareParameter& parameter);
  /// Replaces its tensors by those that the optimizer now holds in their places. Returns whether any was replaced.
  bool follow(const torch::optim::Optimizer& optimizer);
  /// Puts these parameters in place of others whose shapes differ at most in the number of rows, and whose optimizers
  /// are idle. Returns the optimizer of the first of those others, only to compare with; returns null and takes none if
  /// there are fewer.
  const torch::optim::Optimizer* adopt(const std::vector<BareParameter>& parameters,
                                       const std::function<bool(const torch::optim::Optimizer*)>& is_idle);
  ParameterSet tensors() const;
  /// Calls `show` for tensors whose number of rows has changed; once for those with equal numbers.
  void each_length(const std::function<void(const std::string& name, std::int64_t rows)>& show) const;

 private:
  struct Slot {
    std::string name;
    const torch::optim::Optimizer* optimizer;  // only to compare with
    std::size_t group, index;
    bool has_grown;
  };
  const at::Tensor& tensor_of(const Slot& slot) const { return parameters_[slot.name]; }
  void put(Slot& slot, const at::Tensor& tensor);

  std::vector<Slot> slots_;
};

}  // namespace loupe
