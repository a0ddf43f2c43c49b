#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "config/launch.h"

namespace loupe {

enum class ProcessState { gone, stopped, running };

/// A process of this machine; one that only waits for its parent to notice its end is gone.
ProcessState state_of_process(int process);

/// Whether a thread of this process waits for nothing but a processor. False where the system does not show it.
bool waits_for_processor(int thread);

/// The ranks of the job for which a process runs on this machine, by the environments of this user's processes.
std::set<int> running_ranks_of(const Launch& launch);

/// The processes of the ranks of a run, as far as they have said who they are.
class RankProcesses {
 public:
  enum class Presence {
    unseen,     ///< never heard of
    elsewhere,  ///< on another machine, where nothing shows how it is
    running,
    stopped,  ///< by a signal
    gone,     ///< killed, crashed or ended
  };

  /// @param holder  what RunHolder::text() gave there
  void add(int rank, std::string_view holder);
  Presence presence_of(int rank) const;
  /// On this machine; 0 where that is unknown.
  int process_of(int rank) const;
  /// Those on this machine, by rank.
  const std::map<int, int>& here() const { return here_; }

 private:
  std::map<int, int> here_;
  std::set<int> elsewhere_;
};

}  // namespace loupe
