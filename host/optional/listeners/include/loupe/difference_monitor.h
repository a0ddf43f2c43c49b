#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "loupe/reducers.h"

namespace torch::nn {
class Module;
}

namespace loupe {

// Programs that use this header link loupe::listeners.

/// How a DifferenceMonitor compares an attribute's value after a forward with that before it. If a function throws, the
/// exception leaves the model's forward.
struct DifferenceSettings {
  bool train_update = true;  ///< watch while the module is in training mode
  bool eval_update = true;   ///< watch while it is in evaluation mode
  bool prepend = false;      ///< watch before earlier watchers of the module, at its entry and at its end
  /// Whether a forward counts; a missing value is an undefined tensor. The default: at least one value is defined.
  std::function<bool(const at::Tensor& after, const at::Tensor& before)> filter = {};
  /// Returns the input of the reducer; a missing value is zeros. The default: only the result of `op`.
  std::function<std::vector<at::Tensor>(const at::Tensor& after, const at::Tensor& before)> map = {};
  /// Compares the two, if there is no map; a missing value is zeros. The default: after - before.
  std::function<at::Tensor(const at::Tensor& after, const at::Tensor& before)> op = {};
};

/// Watches by how much a module's attribute changes in each of its forwards, without an inspector:
///
///     loupe::DifferenceMonitor monitor(std::make_shared<loupe::reducers::Sum>(), "running_mean", *batch_norm);
///     model->forward(input);
///     monitor.reducer().latest();
///
/// The value before is copied, so that a change in place shows. Construct, change and read on the trainer's thread, not
/// while the module runs.
class LOUPE_API DifferenceMonitor {
 public:
  using Get = std::function<at::Tensor()>;

  /// @param attribute  a parameter or buffer of the module, or of a child as in "a.b"
  /// @param get        reads the attribute if it is neither; may return an undefined tensor
  /// Throws std::invalid_argument for a module that lacks the attribute, or whose forward cannot be seen.
  DifferenceMonitor(std::shared_ptr<Reducer> reducer, std::string attribute, torch::nn::Module& module,
                    DifferenceSettings settings = {}, Get get = nullptr);
  /// The same without a module yet.
  DifferenceMonitor(std::shared_ptr<Reducer> reducer, std::string attribute, DifferenceSettings settings = {},
                    Get get = nullptr);
  DifferenceMonitor(DifferenceMonitor&&) noexcept;
  DifferenceMonitor& operator=(DifferenceMonitor&&) noexcept;
  ~DifferenceMonitor();

  /// Watches this module from now on instead of another. The reducer continues. Throws like the constructor, and then
  /// watches none.
  void set_module(torch::nn::Module& module);
  void unset_module();
  bool has_module() const;

  Reducer& reducer();
  /// Empties the reducer.
  void clear();

  using MakeReducer = std::function<std::shared_ptr<Reducer>()>;
  /// Returns a function that creates such monitors, each with its own reducer, from the remaining arguments.
  static std::function<DifferenceMonitor(std::string attribute, torch::nn::Module& module)> partial(
      MakeReducer make_reducer, DifferenceSettings settings = {});

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace loupe
