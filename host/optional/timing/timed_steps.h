#pragma once

#include <loupe/abi.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/module_table.h"
#include "pipeline/step_timing.h"
#include "timing/step_timer.h"

namespace loupe {

/// A few steps as Chrome's trace events, for Perfetto and chrome://tracing: nested modules; forward, backward,
/// optimizer and Loupe on a track each; findings as marks. Calls come one at a time.
class StepTrace {
 public:
  /// @param steps  how many to take
  explicit StepTrace(uint64_t steps) : wanted_(steps) {}

  /// A device's step is moved after the end of the previous one.
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
  double end_ = 0;  ///< the end of the last step
  std::vector<Event> events_;
};

/// See StepTiming.
class TimedSteps final : public StepTiming {
 public:
  TimedSteps(ModuleTable& modules, TraceRequest request) : modules_(modules), request_(std::move(request)) {
    if (request_.steps > 0) trace_.emplace(request_.steps);
  }
  ~TimedSteps() override;
  TimedSteps(const TimedSteps&) = delete;
  TimedSteps& operator=(const TimedSteps&) = delete;

  void deliver() override;
  void stepped(uint64_t number, bool looks) override;
  void interrupt() override;
  void found(const loupe_finding& finding) override;
  void end() override;

 private:
  void trace(const TimedStep& step);
  /// Writes the trace. A failure does not affect the run.
  void write_trace();
  /// The number of steps from one timed step to the next.
  uint64_t pause() const {
    if (asked_since_tick_ == 0) return at_least;
    return asked_since_tick_ < enough ? every : seldom;
  }
  void tell_layers(const TimedStep& step);
  void tell_whole(const TimedStep& step);

  /// With small layers a timed step takes nearly half as long again, so a long epoch has fewer of them once there are
  /// `enough` for a mean. The numbers are prime, so that events at each n-th step are timed at their real frequency.
  static constexpr uint64_t every = 17, seldom = 101, enough = 8;
  /// The number of steps between the first two timed steps, which is less for the sake of short epochs.
  static constexpr uint64_t at_least = 8;
  static constexpr uint64_t warm_up = 2;

  ModuleTable& modules_;
  const TraceRequest request_;
  std::optional<StepTrace> trace_;  // the trace until it is written
  uint64_t traced_from_ = 0;        // later steps are the requested ones
  uint64_t steps_ = 0, asked_at_ = 0;
  bool is_early_ = true;  // the trace so far is for a run that ends earlier
  bool traces_ = false;   // the current step is traced
  uint64_t asked_since_tick_ = 0;
};

/// See TimingTable::make.
std::unique_ptr<StepTiming> make_step_timing(ModuleTable& modules, TraceRequest trace);

}  // namespace loupe
