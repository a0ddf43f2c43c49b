#pragma once

#include <functional>
#include <string>

#include "core/shared.h"

namespace loupe {

/// The folder of the merged run, within the folder of a run of several processes.
inline constexpr const char* merged_folder_name = "merged";

/// This process among those that a launcher started to train together, which are one run.
struct Launch {
  int rank = 0, world_size = 1;

  /// Reads the variables of torchrun, MPI and Slurm. Without consistent ones, the process is alone.
  LOUPE_SHARED static Launch from_environment();
  /// Returns the value of a variable, or null.
  using Environment = std::function<const char*(const char* name)>;
  /// The same for a process with that environment.
  LOUPE_SHARED static Launch from(const Environment& environment);

  /// Whether this process shows the run. The others keep records, and log their errors.
  bool shows() const { return rank == 0; }
  /// The folder of this process's files: `directory`, or "rank-3" in it for processes that do not show the run.
  std::string folder_in(const std::string& directory) const;
};

}  // namespace loupe
