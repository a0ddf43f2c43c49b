#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/part.h"
#include "pipeline/module_node.h"
#include "show/held_tick.h"

namespace c10d {
class Store;
}

namespace loupe {

/// The state of one source since the last tick, as saved by its preprocessor.
struct SourceState {
  uint64_t key = 0;  ///< the same for the same source in every process that runs the same program
  std::string bytes;
  bool of_replicas = false;  ///< the same in every process that trains a replica of the model
};

/// The states of all sources of one lens.
struct LensStates {
  std::string lens;
  std::vector<SourceState> sources;
  std::string unable;  ///< why its values cannot be merged with another process's; empty if they can
};

class LensNode;

/// Merges the ticks of the processes of one run. A monitor calls it under its mutex.
class TickKeeper {
 public:
  virtual ~TickKeeper() = default;
  /// A module was added that lenses may watch.
  virtual void add_module(const ModuleDescription& module) = 0;
  /// The states of a lens that has reported a tick, before they are reset.
  virtual LensStates states_of(LensNode& lens) = 0;
  /// A tick is over.
  /// @param own  the report of this process's lenses; kept for take_complete if this process shows the run
  /// @returns `own`, to show at once, if this process does not show the run
  virtual std::unique_ptr<HeldTick> add_tick(std::vector<LensStates> states, std::unique_ptr<HeldTick> own) = 0;

  struct Complete {
    std::vector<std::unique_ptr<HeldTick>> ticks;                         ///< ticks that may be shown now, in order
    std::vector<std::unique_ptr<detail::Owned<loupe_finding>>> findings;  ///< the findings of all ranks
    std::vector<std::string> notes;                                       ///< notes for the user and the time axis
    std::vector<std::string> told_notes;                                  ///< notes only for the time axis
    std::vector<std::pair<int, std::string>> log;                         ///< lines for the user, with their LOUPE_LOG_
    std::vector<std::string> incidents;                                   ///< why other processes wrote incidents
  };
  /// The ticks merged since the last call. Never waits.
  virtual Complete take_complete() = 0;
  /// No tick follows. Waits, for a limited time, until all ticks are complete.
  virtual Complete finish() = 0;
  /// This process writes an incident; asks the others to write theirs.
  virtual void tell_incident(const std::string& why) = 0;
  /// The output of this process is incomplete; the one that shows the run reports that.
  virtual void tell_fault(const std::string& what) = 0;
};

class Monitor;

/// The functions of the part `ranks`, for one process of several.
struct RanksTable {
  static constexpr Part part = Part::ranks;
  static constexpr const char* without =
      "the numbers of the processes are not merged: only rank 0 is shown, the others keep their own records";

  /// Lets a keeper take the monitor's ticks: for `loupe merge`, and to exchange numbers with the other processes. Once
  /// per monitor.
  /// @param store  null: as the configuration and the launcher define
  void (*join)(Monitor& monitor, c10d::Store* store);
  /// See Inspector::attach_ranks. Under the inspector's mutex.
  void (*attach)(Monitor& monitor, c10d::Store& store, int rank, int world_size);
};

}  // namespace loupe
