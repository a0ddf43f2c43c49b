#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "pipeline/monitor.h"

namespace loupe {

/// Losses that were pushed as tensors on a device, which nothing waits for before the tick. Under the inspector's
/// mutex.
class DeferredLosses {
 public:
  explicit DeferredLosses(Monitor& monitor) : monitor_(monitor) {}

  void add(const at::Tensor& value, const std::string& label, uint32_t flags) {
    losses_.push_back({value.detach(), label, flags});
  }
  /// Pushes all of them into the monitor, in one copy from their device.
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

}  // namespace loupe
