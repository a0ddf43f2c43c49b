#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <thread>
#include <vector>

#include "inspector/attachments.h"
#include "pipeline/monitor.h"

namespace loupe {

/// The trainer's loops over epochs and steps, and automatic ticks by `run.tick`, with the model whose steps count: the
/// one that `run.tick.of` names, else the first with an optimizer. Under the inspector's mutex.
class Loops {
 public:
  Loops(Monitor& monitor, const Attachments& attachments) : monitor_(monitor), attachments_(attachments) {}

  /// Records a call by which the training continues.
  void note_calling_thread() {
    thread_ = std::this_thread::get_id();
    left_by_exception_ = false;
  }
  /// An exception has left a loop; a trainer that catches it may continue.
  void note_exception() { left_by_exception_ = true; }
  /// Whether an exception ends the inspector, or has left a loop.
  bool end_by_exception() const { return std::uncaught_exceptions() > exceptions_ || left_by_exception_; }

  /// Chooses the model whose steps count. Call after models or optimizers were attached or detached.
  void choose_clock();
  /// Call at the end of a step at which a tick is due: ticks if this thread called the inspector last; otherwise the
  /// next call ticks.
  void step_ended() {
    if (thread_ == std::this_thread::get_id()) tick_if_due();
  }
  /// Warns once if the model of `run.tick.of` is not attached: at the first loss or step, since models may be attached
  /// until then.
  void tick_if_due();
  /// Call at the end of a loop or of the run, with automatic ticks: shows the rest.
  void tick_rest();

  /// Call before the first epoch of Inspector::epochs(). Each of its epochs ticks once: when the trainer asks, else at
  /// its end.
  void begin_epochs(int first, int last);
  /// Ticks now. Throws the outbox's exception.
  /// @param epoch  without one, the loop's; outside of a loop, one more than the last
  void tick(std::optional<double> epoch, std::uint32_t reason = LOUPE_TICK_EPOCH, std::uint32_t flags = 0);
  /// Ends the loop's body: ticks unless the body did.
  void end_epoch(int epoch);
  /// Call after end_epoch, once the findings are delivered.
  void begin_next_epoch(int epoch) {
    position_.epoch = epoch;
    position_.has_ticked = false;
  }
  /// The same at the end of the loop.
  void end_epochs();
  /// Leaves the loop, ended or not, for the outer one, whose epoch has ticked if this one did.
  void leave_epochs();

  /// Call before the first turn of Inspector::steps(). Throws std::invalid_argument for a range that does not begin at
  /// 1 or later. Without an attached optimizer its turns are the run's steps.
  void begin_steps(std::int64_t first, std::int64_t last);
  /// Ends the loop's body.
  void end_step();
  /// Call after end_step, once the findings are delivered, at the end of the loop.
  void end_steps();

 private:
  struct Position {
    std::optional<int> epoch;  // the loop's epoch; nullopt outside a loop
    bool has_ticked = false;   // a tick came in this epoch
    bool any_ticked = false;   // a tick came since the loop began
  };
  bool ticks_come_by_themselves() const { return monitor_.config().tick.is_automatic(); }
  void warn_if_clock_is_missing();

  Monitor& monitor_;
  const Attachments& attachments_;
  std::thread::id thread_ = std::this_thread::get_id();  // the thread of the last call
  const int exceptions_ = std::uncaught_exceptions();    // exceptions in flight when the inspector was created
  bool left_by_exception_ = false;
  bool clock_is_missing_ = false, clock_was_there_ = false, has_warned_ = false;
  Position position_;
  std::vector<Position> outer_;  // positions in the enclosing loops, and outside all loops
};

}  // namespace loupe
