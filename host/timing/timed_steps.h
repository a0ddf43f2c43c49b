#pragma once

#include <loupe/abi.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/module_table.h"
#include "timing/step_timer.h"

namespace loupe {

/// A few steps as Chrome's trace events, for Perfetto and chrome://tracing: nested modules; forward, backward,
/// optimizer and Loupe on a track each; findings as marks. Calls come one at a time.
class StepTrace {
 public:
  /// @param steps  how many to take
  explicit StepTrace(uint64_t steps) : wanted_(steps) {}

  /// A device's step is moved behind the end of the previous one.
  void add(TimedStep step);
  /// Adds a raised finding. @param when  in steady_time
  void add(const loupe_finding& finding, double when);
  uint64_t steps() const { return steps_; }
  bool is_whole() const { return steps_ >= wanted_; }
  /// Throws std::system_error if the file cannot be written.
  void write(const std::filesystem::path& file, const std::string& run) const;

 private:
  struct Event {
    std::string name, category, arguments;  ///< arguments as JSON
    int track;
    double begin, end;  ///< seconds; equal for a mark
    bool is_mark = false;
  };
  void add_backward(const TimedStep& step, const std::vector<std::string>& layers);
  void add_containers(std::size_t from, int track);

  uint64_t wanted_, steps_ = 0;
  double end_ = 0;  ///< of the last step
  std::vector<Event> events_;
};

/// Chooses which steps of a monitor are timed, and sends their times. Calls come one at a time.
class TimedSteps {
 public:
  /// @param traced  the number of steps to trace  @param after  the number of steps before; a shorter run traces
  /// earlier ones
  TimedSteps(ModuleTable& modules, uint64_t traced, uint64_t after)
      : modules_(modules), traced_(traced), trace_after_(after) {
    if (traced > 0) trace_.emplace(traced);
  }
  ~TimedSteps();
  TimedSteps(const TimedSteps&) = delete;
  TimedSteps& operator=(const TimedSteps&) = delete;

  /// Sends step times to subscribers. Called before the lenses hear of the next step, or report.
  void deliver();
  /// A step has ended. @param number  in the run  @param looks  whether the next one is looked at
  void stepped(uint64_t number, bool looks);
  /// Cancels timing of the current step: it has a tick.
  void interrupt();

  /// The trace until end_trace(); null if none is requested.
  StepTrace* trace() { return trace_ ? &*trace_ : nullptr; }
  void end_trace() { trace_.reset(); }
  /// Whether all requested steps are traced.
  bool has_whole_trace() const { return trace_ && !is_early_ && trace_->is_whole(); }
  /// The first step that can be timed.
  static constexpr uint64_t first = 3;

 private:
  void trace(const TimedStep& step);
  /// Steps from the one that was timed last to the next.
  uint64_t pause() const {
    if (asked_since_tick_ == 0) return at_least;
    return asked_since_tick_ < enough ? every : seldom;
  }
  void tell_layers(const TimedStep& step);
  void tell_whole(const TimedStep& step);

  /// A timed step takes nearly half as long again where layers are small, so that a long epoch has fewer of them once
  /// there are `enough` for a mean. The numbers are prime, so that what a loop does at each n-th step is timed as often
  /// as it is done.
  static constexpr uint64_t every = 17, seldom = 101, enough = 8;
  /// For short epochs.
  static constexpr uint64_t at_least = 8;
  static constexpr uint64_t warm_up = first - 1;

  ModuleTable& modules_;
  std::optional<StepTrace> trace_;
  uint64_t traced_, trace_after_;
  uint64_t traced_from_ = 0;  // later steps are the requested ones
  uint64_t steps_ = 0, asked_at_ = 0;
  bool is_early_ = true;  // the trace so far is for a run that ends earlier
  bool traces_ = false;   // the current step
  uint64_t asked_since_tick_ = 0;
};

}  // namespace loupe
