#pragma once

#include <chrono>
#include <string>

#include "pipeline/monitor.h"
#include "ranks/rank_store.h"

namespace loupe {

/// Makes the monitor of a process of several keep its numbers for `loupe merge`, and exchange them with the others'.
/// Nothing for a process alone.
/// @param store  empty: as the configuration and the launcher say
void join_ranks(Monitor& monitor, OpenRankStore store = {});

/// Which jobs may meet at a store.
enum class MeetingPlace {
  any,     ///< all of this user's on this host, or in this folder
  named,   ///< those whose configuration names it
  of_job,  ///< one alone
};
/// Begins the keys of a run's exchange: the same in all its processes, and new for each run of a process.
std::string exchange_prefix(const Config& config, MeetingPlace place);
std::chrono::milliseconds rank_timeout(const Config& config);

}  // namespace loupe
