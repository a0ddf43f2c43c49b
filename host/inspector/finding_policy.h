#pragma once

#include "pipeline/monitor.h"

namespace loupe {

/// Answers findings as `on_finding` of the configuration says, and hands them on to the trainer's callback. Under the
/// inspector's mutex.
class FindingPolicy {
 public:
  explicit FindingPolicy(Monitor& monitor) : monitor_(monitor) {}

  /// A finding was raised, has changed or is gone.
  void answer(const loupe_finding& finding);
  /// Whether a finding came that is answered with `stop`.
  bool should_stop() const { return should_stop_; }

 private:
  Monitor& monitor_;
  bool should_stop_ = false;
};

}  // namespace loupe
