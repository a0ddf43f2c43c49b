#include "ranks/rank_watch.h"

#include <loupe/text/number_text.h>

namespace loupe {

using Presence = RankProcesses::Presence;

bool RankWatch::may_come(int rank, bool was_late) {
  switch (processes_.presence_of(rank)) {
    case Presence::running:
      return true;
    case Presence::elsewhere:
      return !was_late;
    case Presence::stopped:
    case Presence::gone:
      return false;
    case Presence::unseen:
      break;
  }
  constexpr std::chrono::milliseconds between(100);
  if (!looked_ || Clock::now() - *looked_ > between) {
    running_ = running_ranks_of(launch_);
    looked_ = Clock::now();
  }
  return running_.count(rank) > 0;
}

std::string RankWatch::reasons(const std::set<int>& missing, const HasLeft& has_left) const {
  std::map<std::string, std::vector<int>> by_reason;
  for (const int rank : missing) {
    const Presence presence = processes_.presence_of(rank);
    // Who never came cannot have left, and they may be many to ask for.
    by_reason[presence == Presence::unseen ? "never came"
              : has_left(rank)             ? "ended before"
              : presence == Presence::gone ? "ended without a word (it may have been killed, or have crashed)"
              : presence == Presence::stopped
                  ? "did not go on (stopped by a signal)"
                  : "did not answer within " + number_text(std::chrono::duration<double>(timeout_).count()) +
                        " s (it may be slow, stopped or dead)"]
        .push_back(rank);
  }
  std::string text;
  for (const auto& [reason, ranks] : by_reason)
    text += (text.empty() ? "" : "; ") + detail::list_of_ranks(ranks) + " " + reason;
  const bool is_alone = by_reason.size() == 1 && by_reason.begin()->first == "never came" &&
                        missing.size() + 1 == static_cast<std::size_t>(launch_.world_size);
  return is_alone ? text + " (where this process trains alone, unset WORLD_SIZE, or write 'ranks: off')" : text;
}

std::vector<std::string> RankWatch::news(const std::set<int>& ranks, const HasLeft& has_left, bool is_last) {
  std::vector<std::string> news;
  for (const auto& [rank, process] : processes_.here()) {
    if (ranks.count(rank) == 0 || told_dead_.count(rank) > 0) continue;
    const Presence presence = processes_.presence_of(rank);
    const std::string name = "rank " + std::to_string(rank), number = std::to_string(process);
    if (presence == Presence::gone) {
      told_dead_.insert(rank);
      if (!has_left(rank))
        news.push_back(name + " ended without a word: its process " + number +
                       " is gone (it may have been killed, or have crashed)");
    } else if (presence == Presence::stopped) {
      // Twice in a row: all processes of a job may be stopped together for a moment.
      const bool is_first = seen_stopped_.insert(rank).second;
      if ((!is_first || is_last) && told_stopped_.insert(rank).second)
        news.push_back(name + " does not go on: its process " + number + " was stopped by a signal; 'kill -CONT " +
                       number + "' lets it go on");
    } else {
      seen_stopped_.erase(rank);
      if (told_stopped_.erase(rank) > 0) news.push_back(name + " goes on again");
    }
  }
  return news;
}

}  // namespace loupe
