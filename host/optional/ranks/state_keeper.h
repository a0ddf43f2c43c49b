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

/// Keeps what this process's lenses gathered at each tick in a file beside its record, written on a thread of its own,
/// and hands it on to the exchange with other processes, where there is one.
class StateKeeper final : public StateSaver {
 public:
  struct Settings {
    RankHeader header;
    std::chrono::milliseconds timeout{10000};  ///< how long the end waits for the disk
    bool shows_each = false;                   ///< keep each line's value too
    std::function<std::string()> record;       ///< where the record is; empty where there is none, and then no file
    std::function<const loupe_run*()> run;     ///< whose record that is
  };
  /// @param exchange  may be null: nobody is told, and each tick is shown as this process has it
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
  const std::shared_ptr<Shared> shared_;  // with the thread
  const uint64_t forks_ = forks_of_process();
  std::string record_;   // where the last tick's was
  std::string modules_;  // that the thread does not know yet
  uint64_t next_tick_ = 0;
};

/// A keeper of the states of a monitor, which outlives it.
/// @param exchange  see StateKeeper
std::unique_ptr<TickKeeper> keep_states(Monitor& monitor, std::unique_ptr<TickKeeper> exchange);

}  // namespace loupe
