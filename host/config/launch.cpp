#include "config/launch.h"

#include <loupe/text/environment.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <optional>

#include "core/number_limits.h"

namespace loupe {
namespace {

std::string text_in(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr ? text : "";
}

/// The first of these that is set.
std::string first_of(std::initializer_list<const char*> variables) {
  for (const char* variable : variables) {
    if (std::string text = text_in(variable); !text.empty()) return text;
  }
  return "";
}

int ranks_per_host(int world_size) {
  for (const char* variable :
       {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE"}) {
    if (const auto number = number_in_environment(variable, 1, world_size)) return static_cast<int>(*number);
  }
  return 1;
}

}  // namespace

Launch Launch::from_environment() {
  static constexpr const char* variables[][2] = {{"RANK", "WORLD_SIZE"},
                                                 {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                                 {"PMI_RANK", "PMI_SIZE"},
                                                 {"SLURM_PROCID", "SLURM_NTASKS"}};
  for (const auto& [rank_name, size_name] : variables) {
    const auto size = number_in_environment(size_name, 1, most_ranks);
    const auto rank = number_in_environment(rank_name, 0, size.value_or(0) - 1);
    if (!rank) continue;
    Launch launch;
    launch.rank = static_cast<int>(*rank);
    launch.world_size = static_cast<int>(*size);
    launch.per_host = ranks_per_host(launch.world_size);
    if (const auto port = number_in_environment("MASTER_PORT", 1, 65535))
      launch.address = text_in("MASTER_ADDR") + ":" + std::to_string(*port);
    // Else a server of the trainer's may come there at any time, or never.
    launch.has_server = !launch.address.empty() && text_in("TORCHELASTIC_USE_AGENT_STORE") == "True";
    const std::string id =
        first_of({"TORCHELASTIC_RUN_ID", "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID", "SLURM_JOB_ID"});
    launch.job = id + "-" + first_of({"TORCHELASTIC_RESTART_COUNT", "SLURM_STEP_ID"}) + "-" + launch.address;
    // Started by hand, or by a script that says nothing else.
    if (id.empty() && launch.address.empty() && std::strcmp(rank_name, "RANK") == 0)
      launch.job = "session " + std::to_string(::getsid(0));
    return launch;
  }
  return {};
}

std::string Launch::folder_in(const std::string& directory) const {
  if (shows()) return directory;
  return directory + (directory.empty() ? "" : "/") + "rank-" + std::to_string(rank);
}

}  // namespace loupe
