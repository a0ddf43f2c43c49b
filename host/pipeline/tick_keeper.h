#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/module_node.h"
#include "pipeline/tick_states.h"
#include "show/held_tick.h"

namespace loupe {

/// Who puts together the ticks of the processes of one run. A monitor calls it under its mutex.
class TickKeeper {
 public:
  virtual ~TickKeeper() = default;
  /// A module came that lenses may watch.
  virtual void add_module(const ModuleDescription& module) = 0;
  /// A tick is over.
  /// @param own  what the lenses of this process reported; kept for take_complete where this process shows the run
  /// @returns it, to be shown at once, where this process does not show the run
  virtual std::unique_ptr<HeldTick> add_tick(std::vector<LensStates> states, std::unique_ptr<HeldTick> own) = 0;

  struct Complete {
    std::vector<std::unique_ptr<HeldTick>> ticks;                         ///< that may be shown by now, in their order
    std::vector<std::unique_ptr<detail::Owned<loupe_finding>>> findings;  ///< of the ranks together
    std::vector<std::string> notes;                                       ///< for the user and the time axis
    std::vector<std::string> told_notes;                                  ///< for the time axis; the user knows
    std::vector<std::pair<int, std::string>> log;                         ///< lines for the user, with their LOUPE_LOG_
    std::vector<std::string> incidents;                                   ///< why other processes wrote incidents
  };
  /// What came of the numbers of all processes since the last call. Never waits.
  virtual Complete take_complete() = 0;
  /// No tick follows. Waits, for a limited time, until those that came are complete.
  virtual Complete finish() = 0;
  /// An incident is written in this process; the others are to write theirs too.
  virtual void tell_incident(const std::string& why) = 0;
  /// What this process shows or keeps of its own is not whole; the one that shows the run is to say so.
  virtual void tell_fault(const std::string& what) = 0;
};

}  // namespace loupe
