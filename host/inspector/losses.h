#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <string>
#include <vector>

#include "pipeline/monitor.h"
#include "torch/tensor/compat.h"

namespace loupe {

/// Losses that were pushed as tensors on a device, and are read at the tick. Under the inspector's mutex.
class DeferredLosses {
 public:
  explicit DeferredLosses(Monitor& monitor) : monitor_(monitor) {}

  void add(const at::Tensor& value, const std::string& label, uint32_t flags) {
    losses_.push_back({value.detach(), label, flags});
  }
  /// Pushes all of them into the monitor, with one copy from their device.
  void flush();

 private:
  struct Loss {
    at::Tensor value;
    std::string label;
    uint32_t flags;
  };
  Monitor& monitor_;
  std::vector<Loss> losses_;
};

/// Detects that the graphs of earlier losses stay alive, because losses are summed without item(), or outputs are kept.
/// One thread at a time.
class LossGraphs {
 public:
  static constexpr std::size_t looked_back = 64;

  /// Takes the loss of the next batch. Returns true once if each of the last `looked_back` graphs is alive: as a whole,
  /// or below the model's output.
  bool add(const at::Tensor& loss);
  /// The growth of the process since the first `add`, in bytes; 0 if unknown.
  double growth() const { return growth_; }

 private:
  struct Graph {
    WeakNodeHandle node;
    const void* address;  // only compared
  };
  std::vector<Graph> graphs_;
  double first_bytes_ = 0, growth_ = 0;
  std::size_t count_ = 0;
  bool told_ = false;
};

}  // namespace loupe
