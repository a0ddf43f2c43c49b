#pragma once

#include <cstdint>
#include <optional>

#include "pipeline/module_table.h"
#include "timing/step_trace.h"

namespace loupe {

/// Which of a monitor's steps are timed, and who hears of them. Calls come one at a time.
class TimedSteps {
 public:
  /// @param traced  so many steps are traced  @param after  so many others; in a run that has fewer, earlier ones
  TimedSteps(ModuleTable& modules, uint64_t traced, uint64_t after)
      : modules_(modules), traced_(traced), trace_after_(after) {
    if (traced > 0) trace_.emplace(traced);
  }
  ~TimedSteps();
  TimedSteps(const TimedSteps&) = delete;
  TimedSteps& operator=(const TimedSteps&) = delete;

  /// Sends what a step took to whoever watches that. Before the lenses hear of the next step, or report.
  void deliver();
  /// A step is over. @param number  of the run's clock  @param looks  whether the next one is looked at
  void stepped(uint64_t number, bool looks);
  /// The step at hand is not timed: there is a tick in it.
  void interrupt();

  /// The steps that are traced, until they are taken; null where none is wanted.
  StepTrace* trace() { return trace_ ? &*trace_ : nullptr; }
  void end_trace() { trace_.reset(); }
  /// Whether all steps are taken that were asked for.
  bool has_whole_trace() const { return trace_ && !is_early_ && trace_->is_whole(); }
  /// The first step that can be timed.
  static constexpr uint64_t first = 3;

 private:
  void trace(const TimedStep& step);
  void tell_layers(const TimedStep& step);
  void tell_whole(const TimedStep& step);

  /// A step that is timed takes some percent longer. The number has no small divisor, so that what a loop does at each
  /// n-th step is timed as often as it is done.
  static constexpr uint64_t every = 17;
  /// Short epochs have one all the same.
  static constexpr uint64_t at_least = 8;
  static constexpr uint64_t warm_up = first - 1;

  ModuleTable& modules_;
  std::optional<StepTrace> trace_;
  uint64_t traced_, trace_after_;
  uint64_t traced_from_ = 0;  // steps with higher numbers are those that were asked for
  uint64_t steps_ = 0, asked_at_ = 0;
  bool is_early_ = true;  // what is traced so far is for a run that ends before it has those
  bool traces_ = false;   // the step that is on
  bool asked_since_tick_ = false;
};

}  // namespace loupe
