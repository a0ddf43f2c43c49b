#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "core/shared.h"
#include "loupe/inspector.h"

namespace loupe {

/// From now on a forked child begins with nothing attached, so that it waits for no lock of a thread that it does not
/// have. Again does nothing. Any thread.
LOUPE_SHARED void leave_models_at_forks();

/// Takes the losses that the part `run` finds in a program: an inspector. On the program's threads.
class FoundValues {
 public:
  virtual ~FoundValues() = default;
  virtual const std::string& loss_name(bool train) const = 0;
  /// A tensor of one element, read from its device at the tick. Not shown if the trainer pushes losses of its kind.
  virtual void show_loss(const std::string& name, const at::Tensor& value, bool train) = 0;
  virtual void show_metric(const std::string& name, const at::Tensor& value) = 0;
  /// Adds a note on a guess, and logs it.
  virtual void guessed(const std::string& text) = 0;
  /// How many models are attached.
  virtual std::size_t model_count() = 0;
  /// The names of the attached models whose parameters the optimizer holds.
  virtual std::vector<std::string> models_of(const torch::optim::Optimizer& optimizer) = 0;
};

/// What only `loupe run` needs of an inspector.
struct ProgramInspector {
  /// Creates an inspector for a changed configuration.
  LOUPE_SHARED static Inspector make(Config config);
  /// Attaches a model whose optimizers are found as they clear gradients or step. Returns how much of it is tapped.
  LOUPE_SHARED static std::string attach(Inspector& inspector, torch::nn::Module& model, const std::string& name);
  /// Watches the parameters that replaced others in the modules of an attached model.
  LOUPE_SHARED static void follow_parameters(Inspector& inspector, const std::string& model);
  /// The greatest epoch that is stored of a run that goes on; nullopt without one.
  LOUPE_SHARED static std::optional<double> last_recorded_epoch(Inspector& inspector);
  /// Ends the run at its last tick: what came since, as an evaluation, belongs to no epoch.
  LOUPE_SHARED static void end(Inspector& inspector);
  /// Shows what came since the last tick. @param reason  a LOUPE_TICK_  @param flags  LOUPE_TICK_INCOMPLETE
  LOUPE_SHARED static void tick(Inspector& inspector, double epoch, uint32_t reason, uint32_t flags);
  /// Whether the budget has time for a tick that may also be left out.
  LOUPE_SHARED static bool pays_for_report(Inspector& inspector);
  /// The next epoch has this number, and the steps of a run that goes on are counted on.
  LOUPE_SHARED static void begin_epochs_at(Inspector& inspector, double first);
  /// Publishes a finding about the program as a whole, not about one of its models.
  LOUPE_SHARED static void publish(Inspector& inspector, const Finding& finding);
  /// Adds a note (a LOUPE_NOTE_) on a guess about the program, or on what was not seen.
  LOUPE_SHARED static void note(Inspector& inspector, uint32_t kind, const std::string& text);
  /// Takes the losses of a program that pushes none; lives as long as the inspector.
  LOUPE_SHARED static FoundValues& values_of(Inspector& inspector);
};

}  // namespace loupe
