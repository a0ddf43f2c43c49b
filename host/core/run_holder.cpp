#include "core/run_holder.h"

#include <unistd.h>

#include <charconv>
#include <fstream>
#include <sstream>

namespace loupe {
namespace {

std::string host_name() {
  char name[256] = "";
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

/// Machines may share a name, and containers of one machine do not share numbers of processes.
std::string machine_name() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  char space[64] = "";
  if (boot.empty() || ::readlink("/proc/self/ns/pid", space, sizeof space - 1) <= 0) return "";
  return boot + '/' + space;
}

}  // namespace

RunHolder RunHolder::this_process() {
  return {::getpid(), host_name(), machine_name()};
}

RunHolder RunHolder::in(std::string_view text) {
  RunHolder holder;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), holder.process);
  const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  const bool is_whole = rest.empty() || rest.front() == ' ' || rest.front() == '\n';
  if (error != std::errc() || holder.process <= 0 || !is_whole) return {};
  std::istringstream words{std::string(rest)};
  words >> holder.host >> holder.machine;
  return holder;
}

std::string RunHolder::text() const {
  return std::to_string(process) + (host.empty() ? "" : ' ' + host + ' ' + machine) + '\n';
}

bool RunHolder::is_of_this_machine() const {
  static const auto& here = *new std::string(machine_name());
  return !here.empty() && machine == here;
}

std::string RunHolder::in_words() const {
  if (process == 0) return "another run";
  return "process " + std::to_string(process) + (host.empty() || host == host_name() ? "" : " on " + host);
}

}  // namespace loupe
