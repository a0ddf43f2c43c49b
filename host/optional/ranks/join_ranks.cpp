#include "ranks/join_ranks.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/log.h"
#include "pipeline/monitor.h"
#include "ranks/c10d_store.h"
#include "ranks/exchange.h"
#include "ranks/job.h"
#include "ranks/rank_store.h"
#include "ranks/state_keeper.h"

namespace loupe {
namespace {

/// The jobs that may meet at a store.
enum class MeetingPlace {
  any,     ///< all jobs of this user on this host, or in this folder
  named,   ///< jobs whose configuration names the place
  of_job,  ///< a single job
};

/// A text that the processes of a run share, and other processes at the same place do not.
std::string meeting_text(const Config& config, const Job& job, MeetingPlace place) {
  std::string text = config.run_name;
  const bool is_named = !job.is_of_session();
  // Ranks of one job may have been started in several folders, so the folder cannot identify the job.
  if (place == MeetingPlace::any || (place == MeetingPlace::named && !is_named)) text += '\n' + config.shared_directory;
  if (place == MeetingPlace::any || is_named) text += '\n' + job.name;
  return text;
}

/// Begins the keys of a run's exchange: the same in all its processes, and new for each run of a process.
std::string exchange_prefix(const Config& config, const Job& job, MeetingPlace place) {
  static std::atomic<int> runs{0};
  return std::to_string(std::hash<std::string>()(meeting_text(config, job, place))) + "-" + std::to_string(runs++);
}

/// A store in the folder where this user's processes on this machine meet.
OpenRankStore store_on_this_machine(const std::string& prefix) {
  return store_in_folder(parent_of_meeting_folder(), "loupe-ranks-" + std::to_string(::geteuid()) + "-" + prefix);
}

/// The store if the launcher has none: files, beside those of the run if the ranks may be on several hosts.
OpenRankStore default_store(const Config& config, const Job& job) {
  const std::string prefix = exchange_prefix(config, job, MeetingPlace::any);
  if (job.is_of_one_host() || !config.has_run_directory) return store_on_this_machine(prefix);
  return store_in_folder(config.shared_directory, ".ranks-" + prefix);
}

OpenRankStore store_of(const Config& config, const Job& job, std::chrono::milliseconds timeout) {
  const RankRule& rule = config.ranks;
  if (!rule.folder.empty()) return store_in_folder(rule.folder, exchange_prefix(config, job, MeetingPlace::named));
  if (!job.has_server) return default_store(config, job);
  const std::size_t colon = job.address.rfind(':');
  return store_at(job.address.substr(0, colon), static_cast<uint16_t>(std::stoi(job.address.substr(colon + 1))),
                  exchange_prefix(config, job, MeetingPlace::of_job), timeout);
}

/// See RanksTable.
void join(Monitor& monitor, c10d::Store* store) {
  const Config& config = monitor.config();
  std::unique_ptr<TickKeeper> exchange;
  if (config.ranks.exchange) {
    ExchangeSettings settings;
    settings.job = Job::of(config.launch);
    settings.timeout = std::chrono::milliseconds(static_cast<int64_t>(config.ranks.timeout * 1000));
    settings.shows_each = config.ranks.shows_each;
    settings.open = store != nullptr ? store_beside(*store, exchange_prefix(config, settings.job, MeetingPlace::of_job),
                                                    settings.timeout)
                                     : store_of(config, settings.job, settings.timeout);
    exchange = std::make_unique<Exchange>(std::move(settings),
                                          std::make_unique<MergedLenses>(config, monitor.display().run()));
  }
  monitor.keep_ticks(keep_states(monitor, std::move(exchange)));
  if (!config.ranks.exchange && monitor.display().record().empty())
    log(LOUPE_LOG_WARNING,
        "the numbers of this rank are not kept: ranks.store is none, and 'loupe merge' needs a record; name record "
        "under visualizers");
  if (!config.launch.shows()) return;
  const std::string shows = "rank 0 of " + std::to_string(config.launch.world_size) + " shows this run, with ";
  const std::string keeps = "; each other rank keeps its record in its folder rank-N, and prints its errors";
  log(LOUPE_LOG_INFO, shows + (config.ranks.exchange
                                   ? "the numbers of all ranks" + keeps
                                   : "only its own numbers (ranks.store: none)" + keeps + "; afterwards 'loupe merge " +
                                         monitor.display().run().directory + "' shows the numbers of all"));
}

/// See RanksTable.
void attach(Monitor& monitor, c10d::Store& store, int rank, int world_size) {
  if (rank < 0 || rank >= world_size)
    throw std::invalid_argument("loupe: there is no rank " + std::to_string(rank) + " of " +
                                std::to_string(world_size));
  const Config& config = monitor.config();
  if (!config.ranks.on || world_size == 1) return;
  if (monitor.has_ticked()) throw std::logic_error("loupe: call attach_ranks before the first tick");
  Launch launch = config.launch;
  if (launch.world_size == 1) {
    launch.rank = rank;
    launch.world_size = world_size;
    monitor.join(launch);
  } else if (launch.rank != rank || launch.world_size != world_size) {
    throw std::invalid_argument("loupe: attach_ranks got rank " + std::to_string(rank) + " of " +
                                std::to_string(world_size) + ", and the launcher said " + std::to_string(launch.rank) +
                                " of " + std::to_string(launch.world_size));
  }
  join(monitor, &store);
}

}  // namespace

const RanksTable ranks_table = {&join, &attach};

}  // namespace loupe
