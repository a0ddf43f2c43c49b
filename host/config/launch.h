#pragma once

#include <functional>
#include <string>

namespace loupe {

/// The folder of the merged run, in that of a run of several processes.
inline constexpr const char* merged_folder_name = "merged";

/// This process among those that a launcher started to train together, which are one run.
struct Launch {
  int rank = 0, world_size = 1;
  int per_host = 1;          ///< how many ranks in a row share a host, if known
  std::string job = "";      ///< identifies the job; "session N": one script or terminal
  std::string address = "";  ///< "host:port" that the processes of a job agreed on; may be empty
  bool has_server = false;   ///< the launcher serves a TCPStore of c10d there

  /// Reads the variables of torchrun, MPI and Slurm. Without consistent ones, the process is alone.
  static Launch from_environment();
  /// Returns the value of a variable, or null.
  using Environment = std::function<const char*(const char* name)>;
  /// The same for a process with that environment, in that session.
  static Launch from(const Environment& environment, int session);

  /// Whether all of the job's processes are known to be on this machine.
  bool is_of_one_host() const;
  /// Whether only the session in which its processes were started identifies the job.
  bool is_of_session() const;

  /// Whether this process shows the run. The others keep records, and log their errors.
  bool shows() const { return rank == 0; }
  /// The folder of this process's files: `directory`, or "rank-3" in it for processes that do not show the run.
  std::string folder_in(const std::string& directory) const;
};

}  // namespace loupe
