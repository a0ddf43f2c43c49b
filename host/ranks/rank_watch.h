#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ranks/rank_processes.h"

namespace loupe {

/// Says of the other ranks of a run which are worth waiting for, and why one does not answer.
class RankWatch {
 public:
  RankWatch(const Launch& launch, std::chrono::milliseconds timeout) : launch_(launch), timeout_(timeout) {}

  RankProcesses& processes() { return processes_; }
  bool is_gone(int rank) const { return processes_.presence_of(rank) == RankProcesses::Presence::gone; }
  /// Whether a rank that has not answered may still do so, so that the end of this process waits for it.
  /// @param was_late  whether it did not answer in time before
  bool may_come(int rank, bool was_late);

  /// Whether a rank said that it has ended.
  using HasLeft = std::function<bool(int rank)>;
  /// Why these are missing, in words.
  std::string reasons(const std::set<int>& missing, const HasLeft& has_left) const;
  /// Which of these died, were stopped or go on again since the last call, in a sentence each.
  /// @param is_last  no call follows: also tells of one that was just stopped
  std::vector<std::string> news(const std::set<int>& ranks, const HasLeft& has_left, bool is_last);

 private:
  using Clock = std::chrono::steady_clock;

  const Launch& launch_;
  const std::chrono::milliseconds timeout_;
  RankProcesses processes_;
  std::set<int> told_dead_, seen_stopped_, told_stopped_;
  std::optional<Clock::time_point> looked_;
  std::set<int> running_;  // by what the system shows, at that time
};

}  // namespace loupe
