#pragma once

#include <loupe/abi.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "config/sections.h"
#include "core/clock.h"

namespace loupe {

/// Chooses how often to look, so that looking takes no more than a share of the time, by comparing the times of steps
/// that are looked at with those of steps that are not. One clock read per step; has no clock of its own.
///
/// Half a second is on the house: as long as looking has taken less than that in all, every step is looked at, but for
/// those few to compare with. So a short program is looked at whole, and the beginning of a long one.
class Budget {
 public:
  static constexpr uint64_t opening = 8;  ///< so many first steps are looked at, each

  /// @param share  of a step's own time, 0.01 for 1 %
  /// @param fewest  look at one step in at least this many
  explicit Budget(double share, uint64_t fewest = 1);

  /// Look at one step in this many.
  uint64_t every() const { return looks_at_all() ? 1 : every_; }
  /// A step of this duration has ended. Returns whether there is news for the user.
  bool step(double seconds, bool looked);
  /// Discards the current pair of steps: it was interrupted, or steps were not seen.
  void interrupt() { in_pair_ = 0; }
  /// The next step is an epoch's first: what lies between two epochs counts to it, so that its time is not taken.
  void begin_epoch() { begins_epoch_ = true; }

  /// The seconds of a step that is not looked at, and those that looking adds; 0 if unknown.
  double step_seconds() const { return step_seconds_; }
  double added_seconds() const { return added_seconds_; }
  /// The present share of time that looking takes.
  double used_share() const;
  /// The present choice as a sentence for the user.
  std::string words() const;
  /// "one step in 20"
  std::string frequency() const { return "one step in " + std::to_string(every_); }

 private:
  bool looks_at_all() const { return may_look_at_all_ && (steps_ < opening || (is_chosen_ && spare_ > 0)); }
  bool choose();
  uint64_t wanted_every() const;
  uint64_t held_in_windows(uint64_t every) const;
  bool keeps_its_choice() const;

  static constexpr double on_the_house = 0.5;

  double share_;
  bool may_look_at_all_;
  uint64_t fewest_, every_;
  bool is_chosen_ = false, begins_epoch_ = false;
  double spare_ = on_the_house;
  uint64_t steps_ = 0, looked_ = 0, pairs_since_change_ = 0;
  // Adjacent steps are timed in pairs, for loops that do more at every second step.
  double pair_seconds_ = 0;
  int in_pair_ = 0;
  bool pair_looked_ = false;
  std::deque<double> unlooked_, added_;  // seconds per step, of the last pairs
  double step_seconds_ = 0, added_seconds_ = 0;
};

/// Which steps are looked at: of each 2n steps the first two, so that one step in n is looked at and each has a
/// neighbour to compare with. A step lasts from the end of the previous one to its own end. Calls come one at a time.
///
/// With epochs, looks at the first steps of each, unless that would be more than one step in n: what goes wrong between
/// two epochs shows there, and all epochs are sampled in the same places.
class Sampling {
 public:
  explicit Sampling(uint64_t every) : every_(every) {}

  /// Whether the current step is looked at.
  bool looking() const { return looking_; }
  uint64_t every() const { return every_; }
  /// From the next step on; the current pair is completed.
  void set_every(uint64_t every) { every_ = every; }
  /// The current step has ended.
  void end_step() {
    if (fully_ > 0) --fully_;
    if (asked_for_ > fully_) fully_ = asked_for_;
    asked_for_ = 0;
    ++in_epoch_;
    if (++place_ >= pair * every_ && may_begin_pair()) place_ = 0;
    looking_ = every_ == 1 || place_ < pair || fully_ > 0;
  }
  void begin_epoch() {
    epoch_before_ = std::exchange(in_epoch_, 0);
    if (epoch_before_ >= pair * every_ || place_ >= pair * every_) restart();
  }
  /// Looks at each of the next `steps`, because something is wrong.
  void look_fully(uint64_t steps) { asked_for_ = steps; }
  /// The current step begins a pair.
  void restart() {
    place_ = 0;
    looking_ = true;
  }

 private:
  static constexpr uint64_t pair = 2;
  /// Not where the next epoch begins sooner than the pair after this one would, as far as the epoch before says.
  bool may_begin_pair() const { return in_epoch_ >= epoch_before_ || in_epoch_ + pair * every_ <= epoch_before_; }

  uint64_t every_;
  uint64_t place_ = 0;                        // of the present step, since a pair began
  uint64_t in_epoch_ = 0, epoch_before_ = 0;  // steps; of the epoch before, 0 where it is unknown
  uint64_t fully_ = 0, asked_for_ = 0;
  bool looking_ = true;
};

/// Which epochs and steps a monitor looks at: epochs by `attach.active` or the trainer, their steps by `every` and
/// `budget`. Calls come one at a time.
class LookSchedule {
 public:
  using ActiveWhen = std::function<bool(int64_t tick)>;

  /// @param budget  the share of the time that looking may take; 0: any
  LookSchedule(int64_t active, uint64_t every, double budget);

  /// Whether the current epoch is looked at.
  bool active() const { return active_; }
  /// Whether the present step is.
  bool looks() const { return active_ && sampling_.looking(); }
  void set_active(ActiveWhen when) { active_when_ = std::move(when); }
  /// Begins the epoch that ends with this tick. Returns whether `active` or `looks` is new.
  bool begin_epoch(int64_t tick);
  /// Returns whether looking changes with the next step.
  /// @param seen  a tap saw the step, or the trainer reported it
  bool end_step(bool seen);
  /// The time since the last step, such as a tick's, does not count.
  void skip_time();
  /// Something is wrong: looks at each of the next steps.
  void look_fully() { sampling_.look_fully(steps_to_see); }
  /// A further model begins, which may train for a few steps only: looks at the next steps.
  void begin_model() {
    if (budget_) sampling_.look_fully(Budget::opening);
  }
  /// Returns news about the budget's choice, once; empty if nothing changed.
  std::string take_news();
  /// For the summary: ", looks at one step in 20"; empty if all are looked at.
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

/// When automatic ticks come, by `run.tick`. Calls come one at a time.
class TickClock {
 public:
  explicit TickClock(const TickRule& rule) : rule_(rule) {}

  bool is_automatic() const { return rule_.is_automatic(); }
  bool counts_time() const { return rule_.by == TickRule::By::seconds; }
  /// The reason LOUPE_TICK_ for which a tick is due; 0 if none is.
  uint32_t due(uint64_t step) const {
    if (rule_.by == TickRule::By::steps && step - ticked_step_ >= rule_.steps) return LOUPE_TICK_STEPS;
    if (counts_time() && steady_time() - ticked_time_ >= rule_.seconds) return LOUPE_TICK_SECONDS;
    return 0;
  }
  /// A tick came at this step, automatic or not.
  void ticked(uint64_t step) {
    ticked_step_ = step;
    ticked_time_ = steady_time();
  }
  bool has_steps_since_tick(uint64_t step) const { return step != ticked_step_; }
  /// The run resumes after so many steps. Returns how many ticks came in them.
  uint64_t begin_after(uint64_t steps) {
    ticked_step_ = steps;
    return rule_.by == TickRule::By::steps ? steps / rule_.steps : 0;
  }

 private:
  const TickRule& rule_;  // the configuration's
  uint64_t ticked_step_ = 0;
  double ticked_time_ = steady_time();
};

}  // namespace loupe
