#pragma once

#include <loupe/abi.h>

#include <filesystem>
#include <functional>
#include <vector>

namespace loupe {

/// Writes a tensor into a file that torch.load reads. Made by the part of the host that knows LibTorch.
using SaveTensor = std::function<void(const loupe_tensor& tensor, const std::filesystem::path& file)>;

/// Who knows the models that a monitor watches: the inspector, or a bench. The monitor calls it under its mutex and
/// never from within a call of a lens. What is not overridden does nothing.
class MonitorHost {
 public:
  virtual ~MonitorHost() = default;
  /// A tick begins: hands over what the taps still owe, such as parameters and deferred losses.
  virtual void before_tick() {}
  /// The attached optimizers as they are now; borrowed until the next call.
  virtual std::vector<const loupe_optimizer*> optimizers() { return {}; }
  /// Monitor::looks() has changed, or a lens looks again after epochs at rest. What compares with earlier events has
  /// begun anew, and is to be primed where the monitor looks.
  virtual void looking_changed() {}
  /// A step has ended and a tick is due: the host sees to it that Monitor::tick_if_due is called, now or later.
  virtual void tick_due() {}
  /// A finding was raised, has changed or is gone; the visualizers are told.
  virtual void finding_told(const loupe_finding&) {}
  /// Who writes tensors into incidents; empty where nobody can.
  virtual SaveTensor tensor_saver() { return {}; }
};

}  // namespace loupe
