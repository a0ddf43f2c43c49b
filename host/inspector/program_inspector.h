#pragma once

#include <string>

#include "config/config.h"
#include "loupe/inspector.h"

namespace loupe {

/// What `loupe run` needs of an inspector and trainers do not.
struct ProgramInspector {
  /// Of a configuration that was read and changed.
  static Inspector make(Config config);
  /// Attaches a model whose optimizers are met as they clear gradients or step. Returns how much of it is tapped.
  static std::string attach(Inspector& inspector, torch::nn::Module& model, const std::string& name);
  /// The next epoch has this number.
  static void begin_epochs_at(Inspector& inspector, double first);
  /// Publishes a finding about the program as a whole, not about one of its models.
  static void publish(Inspector& inspector, const Finding& finding);
  /// What the program was taken to do, or what of it was not seen (a LOUPE_NOTE_), which is logged too.
  static void note(Inspector& inspector, uint32_t kind, const std::string& text);
  /// A loss, a tensor of one element, under a name of its own; read from its device at the tick.
  static void push_loss(Inspector& inspector, const std::string& name, const at::Tensor& value, bool train);
  /// Pushes a metric in the same way.
  static void push_metric(Inspector& inspector, const std::string& name, const at::Tensor& value);
};

}  // namespace loupe
