#pragma once

#include "inspector/attachments.h"
#include "pipeline/monitor.h"

namespace loupe {

/// Chooses whose steps are the run's: those of the model that `run.tick.of` names, else of the first with an optimizer.
/// Under the inspector's mutex.
class RunClock {
 public:
  RunClock(const Monitor& monitor, const Attachments& attachments) : monitor_(monitor), attachments_(attachments) {}

  /// After models or optimizers were attached or detached.
  void choose();
  /// Warns once if the named model is not attached. Call it with the first loss or step, not before: until
  /// then more models may be attached.
  void warn_if_missing();
  /// The same at the end of a run, where a trainer that detaches all its models, one after another, loses nothing.
  void warn_if_never_there() {
    if (!was_there_) warn_if_missing();
  }

 private:
  const Monitor& monitor_;
  const Attachments& attachments_;
  bool is_missing_ = false, was_there_ = false, told_ = false;
};

}  // namespace loupe
