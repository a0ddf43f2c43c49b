#pragma once

#include <loupe/abi.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "config/sections.h"
#include "core/clock.h"

namespace loupe {

/// The time that Loupe may take: a share of the time that passes, and half a second at first. Reads no clock.
class Bucket {
 public:
  static constexpr double at_first = 0.5;  ///< seconds; it never holds more

  explicit Bucket(double share) : share_(share) {}

  /// @param passing  the part of these seconds that Loupe takes even without measuring; it leaves at least a quarter of
  /// the share
  void fill(double passed, double passing);
  /// Loupe took this time for a measured step.
  void spend(double seconds) { seconds_ -= seconds; }
  /// The same for a tick. The trainer demanded it, so it must not leave an endless debt.
  void spend_on_report(double seconds) { seconds_ = std::min(seconds_, std::max(seconds_ - seconds, -at_first)); }
  void reported() { since_report_ = 0; }

  bool is_empty() const { return seconds_ <= 0; }
  bool is_rich() const { return seconds_ > at_first / 4; }
  /// Whether it can pay for the work of one epoch, if the next epoch takes as long as the time since the last report.
  bool pays_for_epoch() const { return seconds_ + share_ * since_report_ > 0; }
  /// Whether an optional report is due.
  bool pays_for_report() const { return pays_for_epoch() || since_report_ >= most_without_report; }

 private:
  static constexpr double most_without_report = 10;

  double share_;
  double seconds_ = at_first, since_report_ = 0;
};

/// Chooses the steps to measure: pairs, as many as the bucket pays for and at most one step in n. Comparisons with the
/// previous step need the pair. Calls come one at a time.
class Sampling {
 public:
  explicit Sampling(uint64_t every) : every_(every), least_(every) {}

  /// From now on pairs begin at multiples of a power of 2 in their epoch: among processes that train together, those
  /// that measure more then have nearly all steps of those that measure less.
  void agree() { agrees_ = true; }

  /// Whether the current step is measured.
  bool looking() const { return looking_; }
  uint64_t every() const { return every_; }
  /// The current step has ended.
  /// @param bucket  null: any number of steps may be measured
  void end_step(const Bucket* bucket);
  /// An epoch begins; faults between two epochs show in its first steps.
  void begin_epoch(const Bucket& bucket);
  /// Measures each of the next `steps`, because something is wrong.
  void look_fully(uint64_t steps) { asked_for_ = steps; }
  /// The current step begins a pair.
  void restart() {
    place_ = 0;
    looking_ = true;
  }

 private:
  static constexpr uint64_t pair = 2;
  bool may_begin(bool is_paid, bool is_rich);

  uint64_t every_, least_;
  uint64_t place_ = 0;  // index of the current step since a pair began
  uint64_t in_epoch_ = 0, epochs_ = 0;
  bool agrees_ = false;
  uint64_t fully_ = 0, asked_for_ = 0;
  bool looking_ = true;
};

/// Chooses the epochs and steps that a monitor measures: epochs by `attach.active` or the trainer, their steps by
/// `every` and `budget`. Calls come one at a time.
class LookSchedule {
 public:
  using ActiveWhen = std::function<bool(int64_t tick)>;

  /// @param budget  the share of the time that Loupe may take; 0: any
  LookSchedule(int64_t active, uint64_t every, double budget);
  ~LookSchedule() { time_hooks(false); }
  LookSchedule(const LookSchedule&) = delete;
  LookSchedule& operator=(const LookSchedule&) = delete;

  /// Whether the current epoch is measured.
  bool active() const { return active_; }
  /// Whether the current step is measured.
  bool looks() const { return active_ && sampling_.looking(); }
  void set_active(ActiveWhen when) { active_when_ = std::move(when); }
  /// Begins the epoch that ends with this tick. Returns whether `active` or `looks` has changed.
  bool begin_epoch(int64_t tick);
  /// Returns whether `looks` has changed for the next step.
  /// @param seen  a tap saw the step, or the trainer reported it
  bool end_step(bool seen);
  /// This process trains together with others, and they are compared in steps that all of them measure.
  void agree() { sampling_.agree(); }
  /// Whether the budget has time for an optional tick.
  bool pays_for_report() const { return !bucket_ || bucket_->pays_for_report(); }
  /// Something is wrong: measures each of the next steps.
  void look_fully() { look_fully(steps_to_see); }
  /// A further model begins, which may train only for a few steps: measures the next steps.
  void begin_model() {
    if (bucket_) look_fully(opening);
  }
  /// Text for the summary: ", measures one step in 20"; empty if all are measured.
  std::string words() const;

 private:
  static constexpr uint64_t steps_to_see = 20, opening = 8;

  void look_fully(uint64_t steps) {
    if (!bucket_ || bucket_->pays_for_epoch()) sampling_.look_fully(steps);
  }
  void settle();
  void time_hooks(bool on);

  ActiveWhen active_when_;
  bool active_ = true;
  Sampling sampling_;
  double share_;
  std::optional<Bucket> bucket_;
  double step_start_, hooks_, reports_;  // the values of steady_time and OwnTime at that time
  bool times_hooks_ = false;
  uint64_t passed_ = 0;      // steps since the last measured one
  double passing_cost_ = 0;  // the cost of an unmeasured step, in seconds
};

/// Decides when automatic ticks come, by `run.tick`. Calls come one at a time.
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
  /// The run resumes after a number of steps. Returns the number of ticks in them.
  uint64_t begin_after(uint64_t steps) {
    ticked_step_ = steps;
    return rule_.by == TickRule::By::steps ? steps / rule_.steps : 0;
  }

 private:
  const TickRule& rule_;  // from the configuration
  uint64_t ticked_step_ = 0;
  double ticked_time_ = steady_time();
};

}  // namespace loupe
