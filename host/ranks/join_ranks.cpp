#include "ranks/join_ranks.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "core/log.h"
#include "ranks/c10d_store.h"
#include "ranks/exchange.h"
#include "ranks/rank_store.h"
#include "ranks/state_keeper.h"

namespace loupe {
namespace {

/// What the processes of a run have in common, and those of others that may meet there have not.
std::string meeting_text(const Config& config, MeetingPlace place) {
  std::string text = config.run_name;
  const bool is_named = !config.launch.is_of_session();
  // Ranks of one job may have been started in several folders, so the folder cannot identify the job.
  if (place == MeetingPlace::any || (place == MeetingPlace::named && !is_named)) text += '\n' + config.shared_directory;
  if (place == MeetingPlace::any || is_named) text += '\n' + config.launch.job;
  return text;
}

/// In the folder where the processes of this user's on this machine meet.
OpenRankStore store_on_this_machine(const std::string& prefix) {
  return store_in_folder(parent_of_meeting_folder(), "loupe-ranks-" + std::to_string(::geteuid()) + "-" + prefix);
}

/// Where the launcher serves no store: files, beside the run's where the ranks may be on several hosts.
OpenRankStore default_store(const Config& config, const std::string& prefix) {
  if (config.launch.is_of_one_host() || !config.has_run_directory) return store_on_this_machine(prefix);
  return store_in_folder(config.shared_directory, ".ranks-" + prefix);
}

OpenRankStore tcp_store(const Config& config, std::chrono::milliseconds timeout) {
  const RankRule& rule = config.ranks;
  TcpPlace place{rule.host, rule.port, exchange_prefix(config, MeetingPlace::named), timeout, "", {}};
  if (is_loopback_name(rule.host)) {
    place.secrets = store_on_this_machine(place.prefix);
  } else {
    place.token = token_of(meeting_text(config, MeetingPlace::named) + '\n' + std::to_string(config.launch.world_size));
  }
  return config.launch.shows() ? store_of_server(std::move(place)) : store_of_client(std::move(place));
}

OpenRankStore store_of(const Config& config, std::chrono::milliseconds timeout) {
  const RankRule& rule = config.ranks;
  if (!rule.folder.empty()) return store_in_folder(rule.folder, exchange_prefix(config, MeetingPlace::named));
  if (!rule.host.empty()) return tcp_store(config, timeout);
  const std::string& address = config.launch.address;
  if (!config.launch.has_server) return default_store(config, exchange_prefix(config, MeetingPlace::any));
  const std::size_t colon = address.rfind(':');
  return store_at(address.substr(0, colon), static_cast<uint16_t>(std::stoi(address.substr(colon + 1))),
                  exchange_prefix(config, MeetingPlace::of_job), timeout);
}

}  // namespace

std::string exchange_prefix(const Config& config, MeetingPlace place) {
  static std::atomic<int> runs{0};
  return std::to_string(std::hash<std::string>()(meeting_text(config, place))) + "-" + std::to_string(runs++);
}

std::chrono::milliseconds rank_timeout(const Config& config) {
  return std::chrono::milliseconds(static_cast<int64_t>(config.ranks.timeout * 1000));
}

void join_ranks(Monitor& monitor, OpenRankStore store) {
  const Config& config = monitor.config();
  if (config.launch.world_size == 1) return;
  std::unique_ptr<TickKeeper> exchange;
  if (config.ranks.exchange) {
    ExchangeSettings settings;
    settings.launch = config.launch;
    settings.timeout = rank_timeout(config);
    settings.shows_each = config.ranks.shows_each;
    settings.open = store ? std::move(store) : store_of(config, settings.timeout);
    exchange = std::make_unique<Exchange>(std::move(settings),
                                          std::make_unique<MergedLenses>(config, monitor.display().run()));
  }
  monitor.keep_ticks(keep_states(monitor, std::move(exchange)));
  if (!config.ranks.exchange && monitor.display().record().empty())
    log(LOUPE_LOG_WARNING,
        "the numbers of this rank are kept nowhere: ranks.store is none, and 'loupe merge' needs a record; name "
        "record under visualizers");
  if (!config.launch.shows()) return;
  const std::string shows = "rank 0 of " + std::to_string(config.launch.world_size) + " shows this run, with ";
  const std::string keeps = "; each other rank keeps a record of its own in its folder rank-N, and tells its errors";
  log(LOUPE_LOG_INFO,
      shows + (config.ranks.exchange
                   ? "the numbers of all ranks" + keeps
                   : "its own numbers alone, as ranks.store is none" + keeps + "; afterwards 'loupe merge " +
                         monitor.display().run().directory + "' shows the numbers of all"));
}

}  // namespace loupe
