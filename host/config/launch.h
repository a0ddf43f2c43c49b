#pragma once

#include <functional>
#include <string>

namespace loupe {

/// The folder, in that of a run of several processes, into which `loupe merge` puts the run of all.
inline constexpr const char* merged_folder_name = "merged";

/// This process among those that a launcher started to train together, which are one run.
struct Launch {
  int rank = 0, world_size = 1;
  int per_host = 1;      ///< how many ranks in a row share a host, where that is known
  std::string job = "";  ///< of all of a job's processes, and no other job's; "session N": of one script or terminal
  std::string address = "";  ///< "host:port" that the processes of a job agreed upon; empty for none
  bool has_server = false;   ///< the launcher serves a TCPStore of c10d there

  /// As torchrun, MPI and Slurm tell it in the environment. A process alone where they tell nothing, or no numbers that
  /// fit together.
  static Launch from_environment();
  /// Gives the value of a variable; null where there is none.
  using Environment = std::function<const char*(const char* name)>;
  /// The same of a process with that environment, in that session.
  static Launch from(const Environment& environment, int session);

  /// Whether all of the job's processes are known to be on this machine.
  bool is_of_one_host() const;
  /// Whether nothing names the job but the session in which its processes were started.
  bool is_of_session() const;

  /// Whether this process shows the run. The others keep their records, and tell their errors.
  bool shows() const { return rank == 0; }
  /// Where this process puts its files, of the run's folder: "rank-3" in it for those that do not show the run.
  std::string folder_in(const std::string& directory) const;
};

}  // namespace loupe
