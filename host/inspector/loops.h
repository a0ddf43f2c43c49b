#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <thread>
#include <vector>

#include "inspector/attachments.h"
#include "pipeline/monitor.h"

namespace loupe {

/// Which thread of the trainer called the inspector last, and whether an exception ends the training. Under the
/// inspector's mutex.
class TrainerCalls {
 public:
  /// Records a call by which the training continues.
  void note_calling_thread() {
    thread_ = std::this_thread::get_id();
    left_by_exception_ = false;
  }
  bool is_on_calling_thread() const { return thread_ == std::this_thread::get_id(); }
  /// An exception has left a loop over epochs or steps; a trainer that catches it may continue.
  void note_exception() { left_by_exception_ = true; }
  /// Whether the inspector is ended by an exception, or after one that left a loop.
  bool ends_by_exception() const { return std::uncaught_exceptions() > exceptions_ || left_by_exception_; }

 private:
  std::thread::id thread_ = std::this_thread::get_id();
  const int exceptions_ = std::uncaught_exceptions();  // in flight when the inspector was created
  bool left_by_exception_ = false;
};

/// Chooses the model whose steps count: the one that `run.tick.of` names, else the first with an optimizer. Under the
/// inspector's mutex.
class RunClock {
 public:
  RunClock(const Monitor& monitor, const Attachments& attachments) : monitor_(monitor), attachments_(attachments) {}

  /// Call after models or optimizers were attached or detached.
  void choose();
  /// Warns once if the named model is not attached. Call with the first loss or step: before, more models may be
  /// attached.
  void warn_if_missing();
  /// The same at the end of a run, when a trainer may have detached its models.
  void warn_if_never_there() {
    if (!was_there_) warn_if_missing();
  }

 private:
  const Monitor& monitor_;
  const Attachments& attachments_;
  bool is_missing_ = false, was_there_ = false, told_ = false;
};

/// Automatic ticks by `run.tick`: at the end of a step on the thread that called the inspector last, else at the next
/// call. Under the inspector's mutex.
class DueTicks {
 public:
  DueTicks(Monitor& monitor, RunClock& clock, const TrainerCalls& calls)
      : monitor_(monitor), clock_(clock), calls_(calls) {}

  bool come_by_themselves() const { return monitor_.config().tick.is_automatic(); }
  /// Call at the end of a step at which a tick is due.
  void step_ended() {
    if (calls_.is_on_calling_thread()) tick_if_due();
  }
  void tick_if_due() {
    clock_.warn_if_missing();
    monitor_.tick_if_due();
  }
  /// Call at the end of a loop or of the run: shows the rest.
  void tick_rest() {
    clock_.warn_if_never_there();
    monitor_.tick_rest();
  }

 private:
  Monitor& monitor_;
  RunClock& clock_;
  const TrainerCalls& calls_;
};

/// The loop over Inspector::epochs(), and the ticks of the trainer. Each epoch of the loop ticks once: when the trainer
/// asks, else at its end. Under the inspector's mutex.
class EpochLoop {
 public:
  EpochLoop(Monitor& monitor, DueTicks& due, TrainerCalls& calls) : monitor_(monitor), due_(due), calls_(calls) {}

  /// Call before the loop's first epoch.
  void begin(int first, int last);
  /// Ticks now. Throws the outbox's exception.
  /// @param epoch  without one, the loop's; outside of a loop, one more than the last
  void tick(std::optional<double> epoch);
  /// Ends the loop's body: ticks unless the body did.
  void end_epoch(int epoch);
  /// Call after end_epoch, once the findings are delivered.
  void begin_next(int epoch) {
    position_.epoch = epoch;
    position_.has_ticked = false;
  }
  /// The same at the end of the loop.
  void end();
  /// Leaves the loop, ended or not, for the outer one, whose epoch has ticked if this one did.
  void leave();

 private:
  struct Position {
    std::optional<int> epoch;  // of the loop; nullopt outside of one
    bool has_ticked = false;   // in this epoch
    bool any_ticked = false;   // since the loop began
  };

  Monitor& monitor_;
  DueTicks& due_;
  TrainerCalls& calls_;
  Position position_;
  std::vector<Position> outer_;  // of outer loops, and of what is outside of all
};

/// The loop over Inspector::steps(). Without an attached optimizer its turns are the run's steps. Under the inspector's
/// mutex.
class StepLoop {
 public:
  StepLoop(Monitor& monitor, const Attachments& attachments, EpochLoop& epochs, DueTicks& due, TrainerCalls& calls)
      : monitor_(monitor), attachments_(attachments), epochs_(epochs), due_(due), calls_(calls) {}

  /// Call before the loop's first turn. Throws std::invalid_argument for a range that does not begin at 1 or later.
  void begin(std::int64_t first, std::int64_t last);
  /// Ends the loop's body.
  void end_turn();
  /// Call after end_turn, once the findings are delivered, at the end of the loop.
  void end();

 private:
  Monitor& monitor_;
  const Attachments& attachments_;
  EpochLoop& epochs_;
  DueTicks& due_;
  TrainerCalls& calls_;
};

}  // namespace loupe
