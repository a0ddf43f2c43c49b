#pragma once

#include <loupe/abi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/part.h"

namespace torch::optim {
class Optimizer;
}

namespace loupe {

class ModuleTable;

/// Chooses which steps of a monitor are timed, sends their times, and traces some. Under the monitor's mutex.
class StepTiming {
 public:
  virtual ~StepTiming() = default;
  /// Sends step times to subscribers, and writes the trace once it is whole. Called before the lenses get the next
  /// step, or report.
  virtual void deliver() = 0;
  /// A step has ended. @param number in the run @param looks whether the next one is measured
  virtual void stepped(uint64_t number, bool looks) = 0;
  /// Cancels timing of the current step, because it has a tick.
  virtual void interrupt() = 0;
  /// Marks a finding in the trace.
  virtual void found(const loupe_finding& finding) = 0;
  /// The run has ended: writes the trace so far.
  virtual void end() = 0;
};

/// The requested steps of a trace; a shorter run traces earlier ones.
struct TraceRequest {
  uint64_t steps = 0, after = 0;        ///< the number to trace, and the number to skip first
  std::string run;                      ///< the run's name
  std::function<std::string()> folder;  ///< returns where to write it; called when it is written
};

/// The functions of the part `timing`. A monitor opens it to trace steps, or if a lens watches their times.
struct TimingTable {
  static constexpr Part part = Part::timing;
  static constexpr const char* without =
      "no step is timed or traced, and memory that layers keep for the backward pass is not measured";
  std::unique_ptr<StepTiming> (*make)(ModuleTable& modules, TraceRequest trace);
  /// Ends a step, after all of Loupe's work at its end. If the next one is timed, autograd reports its nodes until that
  /// one ends. On the thread that took the step.
  /// @param optimizer  the one that took it; null if the trainer reported the step
  void (*step_over)(const torch::optim::Optimizer* optimizer);
  /// Makes autograd report its nodes to this thread while its step is timed, and no longer. Call it at the start of a
  /// forward: autograd undoes it if a step ends within a backward pass.
  void (*begin_pass)();
};

/// See TimingTable::step_over.
inline void step_is_over(const torch::optim::Optimizer* optimizer = nullptr) {
  if (const TimingTable* timing = opened<TimingTable>()) timing->step_over(optimizer);
}

}  // namespace loupe
