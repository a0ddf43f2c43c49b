#include "view/run_state.h"

#include <loupe/abi.h>
#include <loupe/files/descriptor.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "core/run_folder.h"

namespace loupe::view {
namespace {

// A run that has not ticked yet, or ticks fast, may well be silent for so long.
constexpr double least_patience = 120;

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

}  // namespace

bool is_held(const std::filesystem::path& folder) try {
  const Descriptor file(folder / run_lock_name, O_RDONLY | O_NOFOLLOW);
  const struct stat status = file.status();
  char text[32] = "";
  if (!S_ISREG(status.st_mode) || ::read(file.get(), text, sizeof text - 1) <= 0) return false;
  const std::string process(text, std::find_if(text, text + sizeof text, [](char c) { return c < '0' || c > '9'; }));
  if (process.empty()) return false;
  // "1: FLOCK  ADVISORY  WRITE 1234 08:01:131090 0 EOF": a process and a file's inode.
  const std::string inode = ':' + std::to_string(status.st_ino);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, advisory, mode, holder, place;
    words >> number >> kind >> advisory >> mode >> holder >> place;
    const bool is_of_file = place.size() > inode.size() && place.substr(place.size() - inode.size()) == inode;
    if (kind == "FLOCK" && holder == process && is_of_file) return true;
  }
  return false;
} catch (const std::system_error&) {
  return false;
}

RunState state_of(const RunSummary& run, const std::filesystem::path& folder, double now) {
  if (!run.damage().empty()) return RunState::damaged;
  if (run.is_behind()) return RunState::reading;
  if (run.ending()) return state_of_end(run.ending()->how);
  if (is_kept_aside(folder)) return RunState::stopped;
  if (is_held(folder)) return RunState::running;
  const double silent_for = now - static_cast<double>(run.stamp().changed_ns) * 1e-9;
  return silent_for <= std::max(least_patience, 3 * run.longest_pause()) ? RunState::running : RunState::stopped;
}

const char* word_of(RunState state) {
  switch (state) {
    case RunState::reading:
      return "reading";
    case RunState::running:
      return "running";
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
