#include "core/run_folder.h"

#include <fcntl.h>
#include <loupe/abi.h>
#include <loupe/draft/abi/incidents.h>
#include <loupe/files/compression.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <map>
#include <sstream>
#include <system_error>
#include <utility>

#include "core/log.h"

namespace loupe {
namespace {

std::string host_name() {
  char name[256] = "";
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

/// Machines may share a name, and containers of one machine have separate process numbers.
std::string machine_name() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  char space[64] = "";
  if (boot.empty() || ::readlink("/proc/self/ns/pid", space, sizeof space - 1) <= 0) return "";
  return boot + '/' + space;
}

/// The holder of a lock, as written in it.
std::string holder_of(int descriptor) {
  char text[longest_run_lock] = "";
  const ssize_t length = ::pread(descriptor, text, sizeof text, 0);
  const RunHolder holder = RunHolder::in({text, length > 0 ? static_cast<std::size_t>(length) : 0});
  const bool is_own = holder.text() == RunHolder::this_process().text();
  return is_own ? "another inspector of this process" : holder.in_words();
}

/// Whether the opened file or folder no longer has that name. False if that is unknown.
/// @param flags  AT_SYMLINK_NOFOLLOW, or 0 for a name that may be a link to it
bool is_gone(int descriptor, const std::filesystem::path& name, int flags) {
  struct stat opened {
  }, named{};
  if (::fstat(descriptor, &opened) != 0) return false;
  if (::fstatat(AT_FDCWD, name.c_str(), &named, flags) != 0) return errno == ENOENT || errno == ENOTDIR;
  return opened.st_ino != named.st_ino || opened.st_dev != named.st_dev;
}

/// Whether the file is a record, beside which users may have made notes.
bool is_record(const std::filesystem::path& path) {
  const std::filesystem::path name = "record.jsonl";
  return path.filename() == name || path.filename() == compressed_name(name);
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

RunFolder::RunFolder() {
  std::error_code no_matter;
  start_ = std::filesystem::current_path(no_matter);
}
RunFolder::~RunFolder() {
  release();
}

void RunFolder::release() {
  if (lock_) {
    // The names may belong to another run by now.
    if (!has_lost_lock()) ::unlink((folder_ / run_lock_name).c_str());
    lock_.reset();
    if (made_ && opened_ && !is_gone(opened_->get(), folder_, 0))
      ::rmdir(folder_.c_str());  // removes it only if this run wrote nothing
  }
  opened_.reset();
}

/// False if another process holds it.
bool RunFolder::lock(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / run_lock_name;
  do {
    try {
      lock_.emplace(file, O_RDWR | O_CREAT);
    } catch (const std::system_error&) {
      return true;  // writers report why no file can be made
    }
    if (::flock(lock_->get(), LOCK_EX | LOCK_NB) != 0) {
      const std::error_code reason(errno, std::generic_category());
      const bool held = reason == std::errc::operation_would_block;
      if (held) holder_ = holder_of(lock_->get());
      lock_.reset();
      if (!held) {
        log(LOUPE_LOG_WARNING, "the folder '" + folder.string() + "' cannot be locked (" + reason.message() +
                                   "): another run that writes there would mix its files with those of this one; give "
                                   "each run its own run.dir");
      }
      return !held;
    }
  } while (is_gone(lock_->get(), file, AT_SYMLINK_NOFOLLOW));
  const std::string holder = RunHolder::this_process().text();
  // Other processes read it if they want the folder, or ask whether the run is active.
  if (::ftruncate(lock_->get(), 0) == 0) static_cast<void>(!::pwrite(lock_->get(), holder.data(), holder.size(), 0));
  return true;
}

std::string RunFolder::take(const std::string& directory) {
  const std::string own = take_free(directory);
  if (own != directory)
    log(LOUPE_LOG_WARNING, holder_ + " is writing to '" + directory + "'; the files of this run go to '" + own + "'");
  return own;
}

std::string RunFolder::retake(const std::string& directory) {
  const std::string own = take_free(directory);
  log(LOUPE_LOG_WARNING, "the folder '" + directory + "' was moved or deleted while this run was writing there" +
                             (own != directory ? ", and " + holder_ + " writes there now" : "") +
                             "; from now on the files of this run go to " +
                             (own != directory ? "'" + own + "'" : "a new folder of that name"));
  return own;
}

bool RunFolder::has_lost_lock() const {
  return is_gone(lock_->get(), folder_ / run_lock_name, AT_SYMLINK_NOFOLLOW);
}

bool RunFolder::is_lost() {
  if (!opened_) return false;
  if (is_gone(opened_->get(), folder_, 0)) return true;
  if (!lock_ || !has_lost_lock()) return false;
  lock_.reset();
  return !lock(folder_);
}

std::string RunFolder::take_free(const std::string& directory) {
  release();
  looked_for_unnamed_ = false;
  if (directory.empty()) {
    folder_ = start_;
    return directory;
  }
  std::string name = std::filesystem::path(directory).lexically_normal().string();
  if (name.size() > 1 && name.back() == '/') name.pop_back();
  for (int number = 1;; ++number) {
    const std::string own = number == 1 ? directory : name + "-" + std::to_string(number);
    folder_ = (start_ / own).lexically_normal();
    std::error_code no_matter;
    made_ = std::filesystem::create_directories(folder_, no_matter);
    if (!lock(folder_)) continue;
    // The new folder has other files.
    std::erase_if(seen_, [this](const auto& path) { return is_within(path); });
    try {
      opened_.emplace(folder_, O_RDONLY | O_DIRECTORY);
    } catch (const std::system_error&) {
      // A folder that cannot be read cannot be watched; writers report the error.
    }
    return own;
  }
}

RunFolder::Claim RunFolder::claim(std::string& directory, bool is_shared) {
  const Claim claim = claimed_ != directory ? Claim::taken : is_lost() ? Claim::lost : Claim::held;
  if (claim == Claim::lost) {
    directory = retake(directory);
  } else if (claim == Claim::taken) {
    const std::string own = take(is_shared ? "" : directory);
    if (!is_shared) directory = own;
  }
  claimed_ = directory;
  return claim;
}

bool RunFolder::is_within(const std::filesystem::path& path) const {
  const auto inside = path.lexically_relative(folder_);
  return !inside.empty() && inside != "." && *inside.begin() != "..";
}

bool RunFolder::is_older(const std::filesystem::path& path) const {
  std::error_code no_matter;
  if (std::filesystem::is_regular_file(path, no_matter)) return std::filesystem::file_size(path, no_matter) > 0;
  if (!std::filesystem::is_directory(path, no_matter) || folder_ == start_) return false;
  return is_within(path) && !std::filesystem::is_empty(path, no_matter);
}

/// Returns the incidents of an earlier run, once: later calls would also find incidents of this run.
std::vector<std::string> RunFolder::take_unnamed() {
  std::vector<std::string> names;
  if (std::exchange(looked_for_unnamed_, true) || folder_ == start_) return names;
  const std::string prefix = LOUPE_DRAFT_INCIDENT_FOLDER;
  std::error_code no_matter;
  for (const auto& each : std::filesystem::directory_iterator(folder_, no_matter)) {
    const std::string name = each.path().filename().string();
    const bool is_incident = name.compare(0, prefix.size(), prefix) == 0 && name.size() > prefix.size() &&
                             std::isdigit(static_cast<unsigned char>(name[prefix.size()])) != 0;
    if (is_incident && !each.is_symlink(no_matter)) names.push_back(name);
  }
  return names;
}

bool RunFolder::keep_older(const std::vector<std::string>& named) {
  std::vector<std::string> paths = take_unnamed();
  for (const std::string& name : named) {
    paths.push_back(name);
    paths.push_back(compressed_name(name).string());  // long files are compressed
  }
  std::map<std::filesystem::path, std::filesystem::path> kept_in;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    std::filesystem::path path = (folder_ / paths[i]).lexically_normal();
    if (path.filename().empty()) path = path.parent_path();
    if (!seen_.insert(path).second || !is_older(path)) continue;
    const auto folder = path.parent_path();
    std::error_code error;
    for (int number = 1; kept_in.count(folder) == 0 && !error; ++number) {
      const auto next = folder / (older_folder_prefix + std::to_string(number));
      if (::mkdir(next.c_str(), 0777) == 0) {
        kept_in[folder] = next;
      } else if (errno != EEXIST) {
        error.assign(errno, std::generic_category());
      }
    }
    if (!error) std::filesystem::rename(path, kept_in[folder] / path.filename(), error);
    if (error) {
      log(LOUPE_LOG_WARNING, "files of an earlier run in '" + path.string() + "' cannot be kept: " + error.message());
    } else if (is_record(path)) {
      paths.push_back((folder / run_notes_name).string());  // the notes are about that run
      paths.push_back((folder / loaded_file_name).string());
    }
  }
  for (const auto& [folder, kept] : kept_in) {
    log(LOUPE_LOG_INFO, "the files of an earlier run are kept in '" + kept.string() +
                            "'; with 'resume: true' under run, this run would have continued them");
  }
  return !kept_in.empty();
}

}  // namespace loupe
