#include "view/run_state.h"

#include <loupe/abi.h>
#include <loupe/detail/run_state.h>
#include <loupe/files/descriptor.h>
#include <signal.h>

#include <fstream>
#include <sstream>
#include <utility>

#include "config/launch.h"
#include "core/run_folder.h"
#include "ranks/rank_processes.h"

namespace loupe::view {
namespace fs = std::filesystem;
namespace {

constexpr std::pair<RunState, const char*> state_words[] = {
    {RunState::reading, "reading"},         {RunState::running, "running"},     {RunState::unknown, "unknown"},
    {RunState::crashed, "crashed"},         {RunState::completed, "completed"}, {RunState::failed, "failed"},
    {RunState::interrupted, "interrupted"}, {RunState::ended, "ended"},         {RunState::damaged, "damaged"}};

RunState state_called(const std::string& word) {
  for (const auto& [state, known] : state_words) {
    if (known == word) return state;
  }
  return RunState::ended;
}

/// Whether this is a folder with the files of an earlier run, which a later run moved there.
bool is_kept_aside(const fs::path& folder) {
  return folder.filename().string().rfind(older_folder_prefix, 0) == 0;
}

enum class Hold { held, free, unknown };

/// Whether the process holds a lock on the file, according to the kernel's list for this machine.
Hold hold_of(int process, std::uint64_t file) {
  // A line of it, "1: FLOCK  ADVISORY  WRITE 1234 08:01:131090 0 EOF", has a process and a file's inode.
  const std::string inode = ':' + std::to_string(file);
  std::ifstream locks("/proc/locks");
  if (!locks) return Hold::unknown;
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, advisory, mode, place;
    int holder = 0;
    words >> number >> kind >> advisory >> mode >> holder >> place;
    const bool is_of_file = place.size() > inode.size() && place.substr(place.size() - inode.size()) == inode;
    if (kind == "FLOCK" && holder == process && is_of_file) return Hold::held;
  }
  return Hold::free;
}

}  // namespace

RunStanding standing_by_lock(const fs::path& run) try {
  // A merged run has the state of its rank 0, whose folder holds it.
  const fs::path folder = "." / (run.filename() == merged_folder_name ? run.parent_path() : run);
  if (is_kept_aside(folder)) return {RunState::crashed, "a later run took its folder"};
  const Descriptor file(folder / run_lock_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  const struct stat status = file.status();
  char text[longest_run_lock] = "";
  const ssize_t length = S_ISREG(status.st_mode) ? ::read(file.get(), text, sizeof text) : 0;
  const RunHolder holder = RunHolder::in({text, length > 0 ? static_cast<std::size_t>(length) : 0});
  if (holder.process == 0) return {RunState::unknown, "the lock of its folder names no process"};
  const bool is_gone = ::kill(holder.process, 0) != 0 && errno == ESRCH;
  const Hold hold = is_gone ? Hold::free : hold_of(holder.process, status.st_ino);
  if (holder.is_of_this_machine()) {
    const bool is_stopped = hold == Hold::held && state_of_process(holder.process) == ProcessState::stopped;
    if (hold == Hold::held)
      return {RunState::running, is_stopped ? holder.in_words() + " was stopped by a signal" : ""};
    if (hold == Hold::free) return {RunState::crashed, holder.in_words() + " died without finishing"};
    return {RunState::unknown, "this machine does not list its locks"};
  }
  // Locks of an earlier version name no machine; the kernel's list may still have the process.
  if (holder.machine.empty() && hold == Hold::held) return {RunState::running, ""};
  return {RunState::unknown, holder.in_words() + " cannot be seen from here"};
} catch (const std::system_error&) {
  return {RunState::unknown, "its folder has no lock that names a process"};
}

RunStanding standing_of(const replay::RunSummary& run, const fs::path& folder) {
  if (const auto ended = run.ended_as()) return {state_called(ended->word), ended->why};
  return standing_by_lock(folder);
}

RunStanding standing_of(const FollowedRecord& record, const fs::path& folder) {
  if (!record.damage().empty()) return {RunState::damaged, record.damage()};
  if (record.is_behind()) return {RunState::reading, ""};
  RunStanding standing = standing_of(record.summary(), folder);
  // A run releases its lock right after its end line, which may have come since the record was read.
  const bool may_have_ended = standing.state == RunState::crashed && !is_kept_aside(folder) && record.is_outdated();
  return may_have_ended ? RunStanding{RunState::reading, ""} : standing;
}

std::uint32_t flags_by_lock(const fs::path& run) {
  const RunState state = standing_by_lock(run).state;
  return state == RunState::crashed ? RUN_CRASHED : state == RunState::unknown ? RUN_UNKNOWN : 0;
}

bool goes_on(RunState state) {
  return state == RunState::reading || state == RunState::running || state == RunState::unknown;
}

const char* word_of(RunState state) {
  for (const auto& [known, word] : state_words) {
    if (known == state) return word;
  }
  return "";
}

std::string words_of(RunState state) {
  return in_words(word_of(state));
}

}  // namespace loupe::view
