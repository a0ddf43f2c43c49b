#pragma once

#include <string>

#include "config/config.h"
#include "loupe/inspector.h"

namespace loupe {

/// From now on a forked child begins with nothing attached, so that it waits for no lock of a thread that it does not
/// have. Again does nothing. Any thread.
void leave_models_at_forks();

/// What only `loupe run` needs of an inspector.
struct ProgramInspector {
  /// Creates an inspector for a changed configuration.
  static Inspector make(Config config);
  /// Attaches a model whose optimizers are found as they clear gradients or step. Returns how much of it is tapped.
  static std::string attach(Inspector& inspector, torch::nn::Module& model, const std::string& name);
  /// The next epoch has this number.
  static void begin_epochs_at(Inspector& inspector, double first);
  /// Publishes a finding about the program as a whole, not about one of its models.
  static void publish(Inspector& inspector, const Finding& finding);
  /// Adds a note (a LOUPE_NOTE_) on a guess about the program, or on what was not seen.
  static void note(Inspector& inspector, uint32_t kind, const std::string& text);
  /// Pushes a loss, a tensor of one element, under its own name; read from its device at the tick.
  static void push_loss(Inspector& inspector, const std::string& name, const at::Tensor& value, bool train);
  /// Pushes a metric in the same way.
  static void push_metric(Inspector& inspector, const std::string& name, const at::Tensor& value);
};

}  // namespace loupe
