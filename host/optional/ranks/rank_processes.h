#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ranks/job.h"

namespace loupe {

enum class ProcessState { gone, stopped, running };

/// A process of this machine; a zombie counts as ended.
ProcessState state_of_process(int process);

/// Whether a thread of this process waits only for a processor. False if the system does not show it.
bool waits_for_processor(int thread);

/// The ranks of the job for which a process runs on this machine, by the environments of this user's processes.
std::set<int> running_ranks_of(const Job& job);

/// The processes of the ranks of a run, as far as they have introduced themselves.
class RankProcesses {
 public:
  enum class Presence {
    unseen,     ///< it has never introduced itself
    elsewhere,  ///< it is on another machine, so its state is unknown
    running,
    stopped,  ///< a signal stopped it
    gone,     ///< killed, crashed or ended
  };

  /// @param holder  the result of RunHolder::text() there
  void add(int rank, std::string_view holder);
  Presence presence_of(int rank) const;
  /// Its process on this machine; 0 if unknown.
  int process_of(int rank) const;
  /// The processes on this machine, by rank.
  const std::map<int, int>& here() const { return here_; }

 private:
  std::map<int, int> here_;
  std::set<int> elsewhere_;
};

/// Determines which other ranks of a run are worth waiting for, and why a rank does not answer.
class RankWatch {
 public:
  RankWatch(const Job& job, std::chrono::milliseconds timeout) : job_(job), timeout_(timeout) {}

  RankProcesses& processes() { return processes_; }
  bool is_gone(int rank) const { return processes_.presence_of(rank) == RankProcesses::Presence::gone; }
  /// Whether a rank that has not answered may still do so, so that the end of this process waits for it.
  /// @param was_late  whether it did not answer in time before
  bool may_come(int rank, bool was_late);

  /// Whether a rank has announced its end.
  using HasEnded = std::function<bool(int rank)>;
  /// The reasons why these ranks are missing, in words.
  std::string reasons(const std::set<int>& missing, const HasEnded& has_ended) const;
  /// Returns a sentence for each of these ranks that died, was stopped or continued since the last call.
  /// @param is_last  no call follows: also reports a process that was just stopped
  std::vector<std::string> news(const std::set<int>& ranks, const HasEnded& has_ended, bool is_last);

 private:
  using Clock = std::chrono::steady_clock;

  const Job& job_;
  const std::chrono::milliseconds timeout_;
  RankProcesses processes_;
  std::set<int> told_dead_, seen_stopped_, told_stopped_;
  std::optional<Clock::time_point> looked_;
  std::set<int> running_;  // according to the system at that time
};

}  // namespace loupe
