#pragma once

#include <string>

#include "config/launch.h"

namespace loupe {

/// This process's data about the other processes that a launcher started with it.
struct Job : Launch {
  int per_host = 1;          ///< how many ranks in a row share a host, if known
  std::string name = "";     ///< identifies the job; "session N": one script or terminal
  std::string address = "";  ///< "host:port" that the processes of a job agreed on; may be empty
  bool has_server = false;   ///< the launcher serves a TCPStore of c10d there

  /// Reads the variables of torchrun, MPI and Slurm. If they do not describe the run that this process has joined, only
  /// its number is known.
  static Job of(const Launch& launch);
  /// The same for a process with that environment, in that session.
  static Job from(const Environment& environment, int session);

  /// Whether all of the job's processes are known to be on this machine.
  bool is_of_one_host() const;
  /// Whether only the session in which its processes were started identifies the job.
  bool is_of_session() const;
};

}  // namespace loupe
