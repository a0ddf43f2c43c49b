#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/forks.h"
#include "pipeline/monitor.h"
#include "ranks/lens_states.h"
#include "ranks/states_file.h"

namespace loupe {

/// Keeps the states of this process's lenses at each tick in a file beside its record, written on its own thread, and
/// passes them on to the exchange with other processes, if there is one.
class StateKeeper final : public StateSaver {
 public:
  struct Settings {
    RankHeader header;
    std::chrono::milliseconds timeout{10000};  ///< how long the end waits for the disk
    bool shows_each = false;                   ///< keep each line's value too
    std::function<std::string()> record;       ///< returns the path of the record; no file without one
    std::function<const loupe_run*()> run;     ///< the run of that record
  };
  /// @param exchange  may be null: then each tick is shown with only the numbers of this process
  StateKeeper(Settings settings, std::unique_ptr<TickKeeper> exchange);
  ~StateKeeper() override;

  void add_module(const ModuleDescription& module) override;
  std::unique_ptr<HeldTick> add_tick(std::vector<LensStates> states, std::unique_ptr<HeldTick> own) override;
  Complete take_complete() override;
  Complete finish() override;
  void tell_incident(const std::string& why) override;
  void tell_fault(const std::string& what) override;

  struct Shared;

 private:
  void keep(const loupe_tick& tick, const std::string& message);

  const Settings settings_;
  const std::unique_ptr<TickKeeper> exchange_;
  const std::shared_ptr<Shared> shared_;  // shared with the thread
  const uint64_t forks_ = forks_of_process();
  std::string record_;   // the record of the last tick
  std::string modules_;  // modules that are not yet passed to the thread
  uint64_t next_tick_ = 0;
};

/// A keeper of the states of a monitor, which outlives it.
/// @param exchange  see StateKeeper
std::unique_ptr<TickKeeper> keep_states(Monitor& monitor, std::unique_ptr<TickKeeper> exchange);

}  // namespace loupe
