#pragma once

#include <optional>
#include <vector>

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
    turn_.epoch = epoch;
    turn_.has_ticked = false;
  }
  /// The same where the loop ends.
  void end();
  /// The loop is left, ended or not: the one around it goes on, whose epoch has ticked where this one did.
  void leave();

 private:
  struct Turn {
    std::optional<int> epoch;  // of the loop; none outside of one
    bool has_ticked = false;   // in this epoch
    bool any_ticked = false;   // since the loop began
  };

  Monitor& monitor_;
  DueTicks& due_;
  TrainerCalls& calls_;
  Turn turn_;
  std::vector<Turn> around_;  // of the loops around this one, and of what is outside of all
};

}  // namespace loupe
