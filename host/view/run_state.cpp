#include "view/run_state.h"

#include <loupe/abi.h>
#include <loupe/files/descriptor.h>
#include <signal.h>

#include <fstream>
#include <sstream>

#include "config/launch.h"
#include "core/run_folder.h"
#include "ranks/rank_processes.h"

namespace loupe::view {
namespace {

RunState state_of_end(std::uint32_t how) {
  switch (how) {
    case LOUPE_END_COMPLETED:
      return RunState::completed;
    case LOUPE_END_INTERRUPTED:
      return RunState::interrupted;
    case LOUPE_END_FAILED:
      return RunState::failed;
    default:
      return RunState::ended;
  }
}

/// A folder that a later run put its predecessor's files into.
bool is_kept_aside(const std::filesystem::path& folder) {
  return folder.filename().string().rfind(older_folder_prefix, 0) == 0;
}

enum class Hold { held, free, unknown };

/// Whether the process holds a lock on the file, as the kernel lists them for this machine.
Hold hold_of(int process, std::uint64_t file) {
  // "1: FLOCK  ADVISORY  WRITE 1234 08:01:131090 0 EOF": a process and a file's inode.
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

RunStanding standing_by_lock(const std::filesystem::path& folder) try {
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
    if (hold == Hold::free) return {RunState::killed, holder.in_words() + " is gone and recorded no end"};
    return {RunState::unknown, "this machine does not list its locks"};
  }
  // A lock of an earlier version names no machine; the kernel may know it all the same.
  if (holder.machine.empty() && hold == Hold::held) return {RunState::running, ""};
  return {RunState::unknown, holder.in_words() + " cannot be seen from here"};
} catch (const std::system_error&) {
  return {RunState::unknown, "its folder has no lock that names a process"};
}

RunStanding standing_of(const FollowedRecord& record, const std::filesystem::path& folder) {
  if (!record.damage().empty()) return {RunState::damaged, record.damage()};
  if (record.is_behind()) return {RunState::reading, ""};
  const replay::RunSummary& run = record.summary();
  if (run.ending()) {
    const RunState state = state_of_end(run.ending()->how);
    const auto broken = run.broken_loss();
    if (broken && (state == RunState::completed || state == RunState::ended))
      return {RunState::failed, *broken + " was NaN to the end"};
    return {state, run.ending()->message};
  }
  if (is_kept_aside(folder)) return {RunState::stopped, "a later run took its folder"};
  // A merged run stands as its rank 0, in whose folder its own is.
  RunStanding standing = standing_by_lock(folder.filename() == merged_folder_name ? folder.parent_path() : folder);
  // A run gives its lock back right behind its end, which may have come since the record was read.
  if (standing.state == RunState::killed && record.is_outdated()) return {RunState::reading, ""};
  return standing;
}

bool goes_on(RunState state) {
  return state == RunState::reading || state == RunState::running || state == RunState::unknown;
}

const char* word_of(RunState state) {
  switch (state) {
    case RunState::reading:
      return "reading";
    case RunState::running:
      return "running";
    case RunState::unknown:
      return "unknown";
    case RunState::killed:
      return "killed";
    case RunState::stopped:
      return "stopped";
    case RunState::completed:
      return "completed";
    case RunState::interrupted:
      return "interrupted";
    case RunState::failed:
      return "failed";
    case RunState::ended:
      return "ended";
    case RunState::damaged:
      return "damaged";
  }
  return "";
}

}  // namespace loupe::view
