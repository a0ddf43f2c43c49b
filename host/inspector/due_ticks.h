#pragma once

#include "inspector/run_clock.h"
#include "inspector/trainer_calls.h"
#include "pipeline/monitor.h"

namespace loupe {

/// Ticks that come by themselves, as `run.tick` says: at the end of a step on the thread that called the inspector
/// last, else at the next call. Under the inspector's mutex.
class DueTicks {
 public:
  DueTicks(Monitor& monitor, RunClock& clock, const TrainerCalls& calls)
      : monitor_(monitor), clock_(clock), calls_(calls) {}

  bool come_by_themselves() const { return monitor_.config().tick.is_automatic(); }
  /// A step has ended at which a tick is due.
  void step_ended() {
    if (calls_.is_on_calling_thread()) tick_if_due();
  }
  void tick_if_due() {
    clock_.warn_if_missing();
    monitor_.tick_if_due();
  }
  /// At the end of a loop or of the run: shows what no tick has shown.
  void tick_rest() {
    clock_.warn_if_never_there();
    monitor_.tick_rest();
  }

 private:
  Monitor& monitor_;
  RunClock& clock_;
  const TrainerCalls& calls_;
};

}  // namespace loupe
