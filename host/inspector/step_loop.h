#pragma once

#include <cstdint>

#include "inspector/attachments.h"
#include "inspector/due_ticks.h"
#include "inspector/epoch_loop.h"
#include "inspector/trainer_calls.h"
#include "pipeline/monitor.h"

namespace loupe {

/// The loop over Inspector::steps(). Where no optimizer is attached, its turns are the run's steps. Under the
/// inspector's mutex.
class StepLoop {
 public:
  StepLoop(Monitor& monitor, const Attachments& attachments, EpochLoop& epochs, DueTicks& due, TrainerCalls& calls)
      : monitor_(monitor), attachments_(attachments), epochs_(epochs), due_(due), calls_(calls) {}

  /// Before the loop's first turn. Throws std::invalid_argument for a range that does not begin at 1 or later.
  void begin(std::int64_t first, std::int64_t last);
  /// The loop's body is over.
  void end_turn();
  /// After end_turn, once the findings are delivered, where the loop ends.
  void end();

 private:
  Monitor& monitor_;
  const Attachments& attachments_;
  EpochLoop& epochs_;
  DueTicks& due_;
  TrainerCalls& calls_;
};

}  // namespace loupe
