#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/config.h"
#include "core/shared.h"
#include "loupe/inspector.h"

namespace loupe {

class Monitor;

/// From now on a forked child begins with nothing attached, so that it waits for no lock of a thread that it does not
/// have. Further calls do nothing. Any thread.
LOUPE_SHARED void leave_models_at_forks();

/// Takes the losses that the part `run` finds in a program: an inspector. On the program's threads.
class FoundValues {
 public:
  virtual ~FoundValues() = default;
  virtual const std::string& loss_name(bool train) const = 0;
  /// A tensor of one element, read from its device at the tick. Not shown if the trainer pushes losses of its kind.
  virtual void show_loss(const std::string& name, const at::Tensor& value, bool train) = 0;
  virtual void show_metric(const std::string& name, const at::Tensor& value) = 0;
  /// Adds a note (a LOUPE_NOTE_) on a guess about the program, or on something that was not seen.
  virtual void note(uint32_t kind, const std::string& text) = 0;
  /// How many models are attached.
  virtual std::size_t model_count() = 0;
  /// The names of the attached models whose parameters the optimizer holds.
  virtual std::vector<std::string> models_of(const torch::optim::Optimizer& optimizer) = 0;
};

/// The interface of an inspector for `loupe run`.
struct ProgramInspector : FoundValues {
  /// Creates an inspector for a changed configuration.
  LOUPE_SHARED static Inspector make(Config config);
  LOUPE_SHARED static ProgramInspector& of(Inspector& inspector);
  /// Attaches a model whose optimizers are found as they clear gradients or step. Returns how much of it is tapped.
  virtual std::string attach(torch::nn::Module& model, const std::string& name) = 0;
  /// Watches parameters that replaced others in the modules of an attached model.
  virtual void follow_parameters(const std::string& model) = 0;
  /// Shows the data since the last tick. @param reason  a LOUPE_TICK_  @param flags  LOUPE_TICK_INCOMPLETE
  virtual void tick(double epoch, uint32_t reason, uint32_t flags) = 0;
  /// Whether the budget has time for an optional tick.
  virtual bool pays_for_report() = 0;
  /// Calls `call` with the inspector's monitor, under its mutex; not in a forked child.
  virtual void with_monitor(const std::function<void(Monitor&)>& call) = 0;
  /// Shows found losses at once from now on: the program pushes none.
  virtual void show_all_found() = 0;
};

}  // namespace loupe
