#include "config/launch.h"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <optional>

#include "core/bounds.h"

namespace loupe {
namespace {

constexpr const char* session_job_prefix = "session ";

/// The variables of a process.
class Variables {
 public:
  explicit Variables(const Launch::Environment& environment) : environment_(environment) {}

  std::optional<int> number(const char* name) const {
    const char* text = environment_(name);
    if (text == nullptr) return std::nullopt;
    const char* end = text + std::strlen(text);
    int number = 0;
    const auto read = std::from_chars(text, end, number);
    return read.ec == std::errc() && read.ptr == end ? std::optional(number) : std::nullopt;
  }
  std::string text(const char* name) const {
    const char* text = environment_(name);
    return text != nullptr ? text : "";
  }
  /// The first of these that is set.
  std::string first_of(std::initializer_list<const char*> names) const {
    for (const char* name : names) {
      if (std::string found = text(name); !found.empty()) return found;
    }
    return "";
  }

 private:
  const Launch::Environment& environment_;
};

int ranks_per_host(const Variables& variables, int world_size) {
  for (const char* name :
       {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE"}) {
    const auto number = variables.number(name);
    if (number && *number > 0 && *number <= world_size) return *number;
  }
  return 1;
}

}  // namespace

Launch Launch::from_environment() {
  return from([](const char* name) { return std::getenv(name); }, ::getsid(0));
}

Launch Launch::from(const Environment& environment, int session) {
  static constexpr const char* names[][2] = {{"RANK", "WORLD_SIZE"},
                                             {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                             {"PMI_RANK", "PMI_SIZE"},
                                             {"SLURM_PROCID", "SLURM_NTASKS"}};
  const Variables variables(environment);
  for (const auto& [rank_name, size_name] : names) {
    const auto rank = variables.number(rank_name), size = variables.number(size_name);
    if (!rank || !size || *rank < 0 || *rank >= *size || *size > most_ranks) continue;
    Launch launch;
    launch.rank = *rank;
    launch.world_size = *size;
    launch.per_host = ranks_per_host(variables, *size);
    const auto port = variables.number("MASTER_PORT");
    if (port && *port > 0 && *port < 65536)
      launch.address = variables.text("MASTER_ADDR") + ":" + std::to_string(*port);
    // Otherwise the trainer's server may start there at any time, or never.
    launch.has_server = !launch.address.empty() && variables.text("TORCHELASTIC_USE_AGENT_STORE") == "True";
    const std::string id = variables.first_of(
        {"TORCHELASTIC_RUN_ID", "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID", "SLURM_JOB_ID"});
    launch.job = id + "-" + variables.first_of({"TORCHELASTIC_RESTART_COUNT", "SLURM_STEP_ID"}) + "-" + launch.address;
    // Started by hand or by a script.
    if (id.empty() && launch.address.empty() && std::strcmp(rank_name, "RANK") == 0)
      launch.job = session_job_prefix + std::to_string(session);
    return launch;
  }
  return {};
}

bool Launch::is_of_one_host() const {
  return per_host == world_size || is_of_session() || address.rfind("127.", 0) == 0 ||
         address.rfind("localhost:", 0) == 0;
}

bool Launch::is_of_session() const {
  return job.rfind(session_job_prefix, 0) == 0;
}

std::string Launch::folder_in(const std::string& directory) const {
  if (shows()) return directory;
  return directory + (directory.empty() ? "" : "/") + "rank-" + std::to_string(rank);
}

}  // namespace loupe
