#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "pipeline/budget.h"

namespace loupe {

/// Which steps are looked at: of each 2n steps the first two, so that one step in n is looked at and each has a
/// neighbour to be compared with. A step lasts from the end of the one before to its own end. Calls come one at a time.
class Sampling {
 public:
  explicit Sampling(uint64_t every) : every_(every) {}

  /// Whether the present step is looked at.
  bool looking() const { return looking_; }
  uint64_t every() const { return every_; }
  /// From the next step on; a pair that has begun is looked at to its end.
  void set_every(uint64_t every) { every_ = every; }
  /// The present step is over.
  void end_step() {
    if (fully_ > 0) --fully_;
    if (asked_for_ > fully_) fully_ = asked_for_;
    asked_for_ = 0;
    constexpr uint64_t pair = 2;
    if (++place_ >= pair * every_) place_ = 0;
    looking_ = every_ == 1 || place_ < pair || fully_ > 0;
  }
  /// Looks at this many steps without a gap, from the next one on: something is wrong.
  void look_fully(uint64_t steps) { asked_for_ = steps; }
  /// The present step begins a pair.
  void restart() {
    place_ = 0;
    looking_ = true;
  }

 private:
  uint64_t every_;
  uint64_t place_ = 0;  // of the present step, among the 2n
  uint64_t fully_ = 0, asked_for_ = 0;
  bool looking_ = true;
};

/// Which epochs and steps a monitor looks at: the epochs as `attach.active` or the trainer says, of their steps those
/// that `every` and `budget` leave. Calls come one at a time.
class LookSchedule {
 public:
  using ActiveWhen = std::function<bool(int64_t tick)>;

  /// @param budget  the share of the time that looking may take; 0: any
  LookSchedule(int64_t active, uint64_t every, double budget);

  /// Whether the present epoch is looked at.
  bool active() const { return active_; }
  /// Whether the present step is.
  bool looks() const { return active_ && sampling_.looking(); }
  void set_active(ActiveWhen when) { active_when_ = std::move(when); }
  /// Begins the epoch that ends with this tick. Returns whether `active` is new.
  bool begin_epoch(int64_t tick);
  /// Returns whether the next step, unlike this one, is looked at or not.
  /// @param seen  a tap saw the step, or the trainer told it
  bool end_step(bool seen);
  /// The time since the last step is not a step's, such as that of a tick.
  void skip_time();
  /// Something is wrong: looks at the next steps without a gap.
  void look_fully() { sampling_.look_fully(steps_to_see); }
  /// Returns what to tell the user about the budget's choice, once; empty if nothing changed.
  std::string take_news();
  /// What the summary says of it: ", looks at one step in 20"; empty where all are looked at.
  std::string words() const;

 private:
  static constexpr uint64_t steps_to_see = 20;

  ActiveWhen active_when_;
  bool active_ = true;
  Sampling sampling_;
  double share_;
  std::optional<Budget> budget_;
  double step_start_;  // as steady_time tells it
  bool has_news_ = false;
};

}  // namespace loupe
