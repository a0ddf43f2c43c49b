#ifndef LOUPE_PIPELINE_TIMED_STEPS_H
#define LOUPE_PIPELINE_TIMED_STEPS_H

#include <cstdint>

#include "pipeline/module_table.h"

namespace loupe {

/// Which of a monitor's steps are timed, and who hears of them. Calls come one at a time.
class TimedSteps {
 public:
  explicit TimedSteps(ModuleTable& modules) : modules_(modules) {}
  ~TimedSteps();
  TimedSteps(const TimedSteps&) = delete;
  TimedSteps& operator=(const TimedSteps&) = delete;

  /// Sends what a step took to whoever watches that. Before the lenses hear of the next step, or report.
  void deliver();
  /// A step is over. @param looks  whether the next one is looked at
  void stepped(bool looks);
  /// What is on is no step: there is a tick in it.
  void interrupt();

 private:
  /// A step that is timed takes some percent longer. The number has no small divisor, so that what a loop does at each
  /// n-th step is timed as often as it is done.
  static constexpr uint64_t every = 17;
  /// Short epochs have one all the same.
  static constexpr uint64_t at_least = 8;
  static constexpr uint64_t warm_up = 2;

  ModuleTable& modules_;
  uint64_t steps_ = 0, asked_at_ = 0;
  bool asked_since_tick_ = false;
};

}  // namespace loupe

#endif
