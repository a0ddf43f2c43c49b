#ifndef LOUPE_INSPECTOR_EPOCH_LOOP_H
#define LOUPE_INSPECTOR_EPOCH_LOOP_H

#include <optional>

#include "inspector/due_ticks.h"
#include "inspector/trainer_calls.h"
#include "pipeline/monitor.h"

namespace loupe {

/// The loop over Inspector::epochs(), and the ticks that the trainer asks for. Each epoch of the loop ticks once: where
/// the trainer asks for it, else at the epoch's end. Under the inspector's mutex.
class EpochLoop {
 public:
  EpochLoop(Monitor& monitor, DueTicks& due, TrainerCalls& calls) : monitor_(monitor), due_(due), calls_(calls) {}

  /// Before the loop's first epoch.
  void begin(int first, int last);
  /// Ticks now. Throws what the outbox keeps.
  /// @param epoch  without one, the loop's; outside of a loop, one more than the last
  void tick(std::optional<double> epoch);
  /// The loop's body is over: ticks where that was not done in it.
  void end_epoch(int epoch);
  /// After end_epoch, once the findings are delivered.
  void begin_next(int epoch) {
    epoch_ = epoch;
    has_ticked_ = false;
  }
  /// The same where the loop ends.
  void end();

 private:
  Monitor& monitor_;
  DueTicks& due_;
  TrainerCalls& calls_;
  std::optional<int> epoch_;  // of the loop; none outside of one
  bool has_ticked_ = false;   // in this epoch
};

}  // namespace loupe

#endif
