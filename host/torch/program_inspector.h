#ifndef LOUPE_TORCH_PROGRAM_INSPECTOR_H
#define LOUPE_TORCH_PROGRAM_INSPECTOR_H

#include <string>

#include "config/config.h"
#include "loupe/inspector.h"

namespace loupe {

/// What `loupe run` needs of an inspector and trainers do not.
struct ProgramInspector {
  /// Of a configuration that was read and changed.
  static Inspector make(Config config);
  /// Attaches a model whose optimizers are met as they clear gradients or step.
  static void attach(Inspector& inspector, torch::nn::Module& model, const std::string& name);
  /// A tensor of one element under a name of its own, read from its device at the tick.
  static void push(Inspector& inspector, const std::string& label, const at::Tensor& value);
  /// In a process that was forked: what the parent's inspector watches is watched no more here, and what it has is left
  /// as it is, for its files and threads are the parent's.
  static void abandon(Inspector inspector);
};

}  // namespace loupe

#endif
