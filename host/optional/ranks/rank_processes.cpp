#include "ranks/rank_processes.h"

#include <loupe/text/number_text.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "core/run_folder.h"

namespace loupe {
namespace {

namespace fs = std::filesystem;

/// The variables that a process was started with, each "NAME=VALUE" and a null byte. Empty if they are hidden.
std::string environment_of(const fs::path& process) {
  constexpr std::streamsize most = 512 << 10;
  std::ifstream file(process / "environ", std::ios::binary);
  std::string text(static_cast<std::size_t>(most), '\0');
  file.read(text.data(), most);
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

const char* variable_in(const std::string& environment, const char* name) {
  const std::size_t length = std::strlen(name);
  for (std::size_t begin = 0; begin < environment.size(); begin += std::strlen(environment.c_str() + begin) + 1) {
    const char* const each = environment.c_str() + begin;
    if (std::strncmp(each, name, length) == 0 && each[length] == '=') return each + length + 1;
  }
  return nullptr;
}

/// The letter by which /proc shows the state of a process or thread; '\0' if it shows none.
char state_letter_of(const std::string& process) {
  std::ifstream file("/proc/" + process + "/stat");
  std::string text;
  std::getline(file, text, '\0');  // a process that ends now is an error of the file, but an exception of its buffer
  // "12 (a name) S …": the name may hold anything.
  const std::size_t end = text.rfind(") ");
  return end != std::string::npos && end + 2 < text.size() ? text[end + 2] : '\0';
}

}  // namespace

bool waits_for_processor(int thread) {
  return state_letter_of("self/task/" + std::to_string(thread)) == 'R';
}

ProcessState state_of_process(int process) {
  switch (state_letter_of(std::to_string(process))) {
    case 'T':
      return ProcessState::stopped;
    case '\0':
    case 'Z':
    case 'X':
      return ProcessState::gone;
    default:
      return ProcessState::running;
  }
}

std::set<int> running_ranks_of(const Job& job) {
  std::set<int> ranks;
  std::error_code error;
  for (auto each = fs::directory_iterator("/proc", error); !error && each != fs::directory_iterator();
       each.increment(error)) {
    const std::string name = each->path().filename().string();
    int process = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), process);
    if (read.ec != std::errc() || read.ptr != name.data() + name.size()) continue;
    struct stat status {};
    if (::stat(each->path().c_str(), &status) != 0 || status.st_uid != ::geteuid()) continue;
    const std::string environment = environment_of(each->path());
    if (environment.empty()) continue;
    const Job other =
        Job::from([&](const char* variable) { return variable_in(environment, variable); }, ::getsid(process));
    if (other.world_size != job.world_size || other.name != job.name) continue;
    if (state_of_process(process) == ProcessState::running) ranks.insert(other.rank);
  }
  return ranks;
}

void RankProcesses::add(int rank, std::string_view text) {
  const RunHolder holder = RunHolder::in(text);
  here_.erase(rank);
  elsewhere_.erase(rank);
  if (holder.process != 0 && holder.is_of_this_machine()) {
    here_[rank] = holder.process;
  } else {
    elsewhere_.insert(rank);
  }
}

RankProcesses::Presence RankProcesses::presence_of(int rank) const {
  const int process = process_of(rank);
  if (process == 0) return elsewhere_.count(rank) > 0 ? Presence::elsewhere : Presence::unseen;
  switch (state_of_process(process)) {
    case ProcessState::gone:
      return Presence::gone;
    case ProcessState::stopped:
      return Presence::stopped;
    default:
      return Presence::running;
  }
}

int RankProcesses::process_of(int rank) const {
  const auto found = here_.find(rank);
  return found != here_.end() ? found->second : 0;
}

using Presence = RankProcesses::Presence;

bool RankWatch::may_come(int rank, bool was_late) {
  switch (processes_.presence_of(rank)) {
    case Presence::running:
      return true;
    case Presence::elsewhere:
      return !was_late;
    case Presence::stopped:
    case Presence::gone:
      return false;
    case Presence::unseen:
      break;
  }
  constexpr std::chrono::milliseconds between(100);
  if (!looked_ || Clock::now() - *looked_ > between) {
    running_ = running_ranks_of(job_);
    looked_ = Clock::now();
  }
  return running_.count(rank) > 0;
}

std::string RankWatch::reasons(const std::set<int>& missing, const HasEnded& has_ended) const {
  std::map<std::string, std::vector<int>> by_reason;
  for (const int rank : missing) {
    const Presence presence = processes_.presence_of(rank);
    // Ranks that never came cannot have ended, and they may be too many to ask for.
    by_reason[presence == Presence::unseen ? "never came"
              : has_ended(rank)            ? "ended before"
              : presence == Presence::gone ? "ended without a message (it may have been killed, or have crashed)"
              : presence == Presence::stopped
                  ? "did not answer (stopped by a signal)"
                  : "did not answer within " + number_text(std::chrono::duration<double>(timeout_).count()) +
                        " s (it may be slow, stopped or dead)"]
        .push_back(rank);
  }
  std::string text;
  for (const auto& [reason, ranks] : by_reason)
    text += (text.empty() ? "" : "; ") + detail::list_of_ranks(ranks) + " " + reason;
  const bool is_alone = by_reason.size() == 1 && by_reason.begin()->first == "never came" &&
                        missing.size() + 1 == static_cast<std::size_t>(job_.world_size);
  return is_alone ? text + " (if this process trains alone, unset WORLD_SIZE, or write 'ranks: off')" : text;
}

std::vector<std::string> RankWatch::news(const std::set<int>& ranks, const HasEnded& has_ended, bool is_last) {
  std::vector<std::string> news;
  for (const auto& [rank, process] : processes_.here()) {
    if (ranks.count(rank) == 0 || told_dead_.count(rank) > 0) continue;
    const Presence presence = processes_.presence_of(rank);
    const std::string name = "rank " + std::to_string(rank), number = std::to_string(process);
    if (presence == Presence::gone) {
      told_dead_.insert(rank);
      if (!has_ended(rank))
        news.push_back(name + " ended without a message: its process " + number +
                       " no longer exists (it may have been killed, or have crashed)");
    } else if (presence == Presence::stopped) {
      // Report it when seen twice in a row: all processes of a job may be stopped together for a moment.
      const bool is_first = seen_stopped_.insert(rank).second;
      if ((!is_first || is_last) && told_stopped_.insert(rank).second)
        news.push_back(name + " is stopped: a signal stopped its process " + number + "; 'kill -CONT " + number +
                       "' continues it");
    } else {
      seen_stopped_.erase(rank);
      if (told_stopped_.erase(rank) > 0) news.push_back(name + " continues");
    }
  }
  return news;
}

}  // namespace loupe
