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
  /// Sends step times to subscribers, and writes the trace once it is whole. Called before the lenses hear of the next
  /// step, or report.
  virtual void deliver() = 0;
  /// A step has ended. @param number  in the run  @param looks  whether the next one is looked at
  virtual void stepped(uint64_t number, bool looks) = 0;
  /// Cancels timing of the current step: it has a tick.
  virtual void interrupt() = 0;
  /// Marks a finding in the trace.
  virtual void found(const loupe_finding& finding) = 0;
  /// The run has ended: writes what there is of the trace.
  virtual void end() = 0;
};

/// The steps that a trace is to have; a shorter run traces earlier ones.
struct TraceRequest {
  uint64_t steps = 0, after = 0;        ///< how many are traced, and how many are skipped first
  std::string run;                      ///< its name
  std::function<std::string()> folder;  ///< where to write it; called then
};

/// What the part `timing` does. A monitor opens it where steps are to be traced, or a lens watches their times.
struct TimingTable {
  static constexpr Part part = Part::timing;
  static constexpr const char* without =
      "no step is timed or traced, and memory that layers keep for the backward pass is not measured";
  std::unique_ptr<StepTiming> (*make)(ModuleTable& modules, TraceRequest trace);
  /// Ends a step, after all that Loupe does at its end. If the next one is timed, autograd reports its nodes until that
  /// one ends. On the thread that took the step.
  /// @param optimizer  that took it; null if the trainer reported it
  void (*step_over)(const torch::optim::Optimizer* optimizer);
  /// Makes autograd report its nodes to this thread while its step is timed, and no longer. At the start of a forward:
  /// autograd undoes it where a step ends within a backward pass.
  void (*begin_pass)();
};

/// See TimingTable::step_over.
inline void step_is_over(const torch::optim::Optimizer* optimizer = nullptr) {
  if (const TimingTable* timing = opened<TimingTable>()) timing->step_over(optimizer);
}

}  // namespace loupe
