#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "core/forks.h"
#include "ranks/job.h"
#include "ranks/lens_states.h"
#include "ranks/merged_lenses.h"
#include "ranks/rank_store.h"

namespace loupe {

/// How the processes of a run exchange their numbers.
struct ExchangeSettings {
  Job job;
  std::chrono::milliseconds timeout{10000};  ///< how long a tick waits for other ranks
  bool shows_each = false;                   ///< also show the most deviating rank of each line
  OpenRankStore open;
};

/// Sends the numbers of this process towards rank 0, and merges those of others, on its own thread: training never
/// waits for another process. A hanging store blocks only that thread, which is then abandoned at the end.
class Exchange final : public StateSaver {
 public:
  Exchange(ExchangeSettings settings, std::unique_ptr<MergedLenses> lenses);
  ~Exchange() override;

  void add_module(const ModuleDescription& module) override;
  std::unique_ptr<HeldTick> add_tick(std::vector<LensStates> states, std::unique_ptr<HeldTick> own) override;
  Complete take_complete() override;
  Complete finish() override;
  void tell_incident(const std::string& why) override;
  /// The fault is sent with the next tick; rank 0 reports its own faults directly.
  void tell_fault(const std::string& what) override;

  struct Shared;

 private:
  const std::shared_ptr<Shared> shared_;  // shared with the thread
  const uint64_t forks_ = forks_of_process();
};

}  // namespace loupe
