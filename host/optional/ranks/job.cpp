#include "ranks/job.h"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <initializer_list>

namespace loupe {
namespace {

constexpr const char* session_prefix = "session ";

/// The variables of a process.
class Variables {
 public:
  explicit Variables(const Launch::Environment& environment) : environment_(environment) {}

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
  /// A positive number, or 0.
  int number(const char* name) const {
    const std::string text = this->text(name);
    int number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    return read.ec == std::errc() && read.ptr == text.data() + text.size() && number > 0 ? number : 0;
  }

 private:
  const Launch::Environment& environment_;
};

int ranks_per_host(const Variables& variables, int world_size) {
  for (const char* name :
       {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE"}) {
    if (const int number = variables.number(name); number > 0 && number <= world_size) return number;
  }
  return 1;
}

}  // namespace

Job Job::of(const Launch& launch) {
  Job job = from([](const char* name) { return std::getenv(name); }, ::getsid(0));
  return job.rank == launch.rank && job.world_size == launch.world_size ? job : Job{launch};
}

Job Job::from(const Environment& environment, int session) {
  Job job{Launch::from(environment)};
  if (job.world_size == 1) return job;
  const Variables variables(environment);
  job.per_host = ranks_per_host(variables, job.world_size);
  if (const int port = variables.number("MASTER_PORT"); port > 0 && port < 65536)
    job.address = variables.text("MASTER_ADDR") + ":" + std::to_string(port);
  // Otherwise the trainer's server may start there at any time, or never.
  job.has_server = !job.address.empty() && variables.text("TORCHELASTIC_USE_AGENT_STORE") == "True";
  const std::string id = variables.first_of(
      {"TORCHELASTIC_RUN_ID", "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID", "SLURM_JOB_ID"});
  job.name = id + "-" + variables.first_of({"TORCHELASTIC_RESTART_COUNT", "SLURM_STEP_ID"}) + "-" + job.address;
  // The process was started by hand or by a script.
  if (id.empty() && job.address.empty() && variables.text("RANK") == std::to_string(job.rank) &&
      variables.text("WORLD_SIZE") == std::to_string(job.world_size))
    job.name = session_prefix + std::to_string(session);
  return job;
}

bool Job::is_of_one_host() const {
  return per_host == world_size || is_of_session() || address.rfind("127.", 0) == 0 ||
         address.rfind("localhost:", 0) == 0;
}

bool Job::is_of_session() const {
  return name.rfind(session_prefix, 0) == 0;
}

}  // namespace loupe
