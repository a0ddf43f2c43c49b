#include "core/run_folder.h"

#include <fcntl.h>
#include <loupe/abi.h>
#include <loupe/files/compression.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <map>
#include <system_error>
#include <utility>

#include "core/log.h"
#include "core/run_holder.h"

namespace loupe {
namespace {

/// Who holds a lock, as it wrote there.
std::string holder_of(int descriptor) {
  char text[longest_run_lock] = "";
  const ssize_t length = ::pread(descriptor, text, sizeof text, 0);
  const RunHolder holder = RunHolder::in({text, length > 0 ? static_cast<std::size_t>(length) : 0});
  const bool is_own = holder.text() == RunHolder::this_process().text();
  return is_own ? "another inspector of this process" : holder.in_words();
}

/// Whether what was opened has that name no more. What cannot be looked at counts as there.
bool is_gone(int descriptor, const std::filesystem::path& name) {
  struct stat opened {
  }, named{};
  if (::fstat(descriptor, &opened) != 0) return false;
  if (::lstat(name.c_str(), &named) != 0) return errno == ENOENT || errno == ENOTDIR;
  return opened.st_ino != named.st_ino || opened.st_dev != named.st_dev;
}

/// Whether `loupe view` lists the folder of this file, so that people may have made notes there.
bool is_record(const std::filesystem::path& path) {
  const std::filesystem::path name = "record.jsonl";
  return path.filename() == name || path.filename() == compressed_name(name);
}

}  // namespace

RunFolder::RunFolder() {
  std::error_code no_matter;
  start_ = std::filesystem::current_path(no_matter);
}
RunFolder::~RunFolder() {
  release();
}

void RunFolder::release() {
  if (descriptor_ >= 0) {
    // What stands under these names may be another run's by now.
    if (!is_gone(descriptor_, folder_ / run_lock_name)) ::unlink((folder_ / run_lock_name).c_str());
    ::close(std::exchange(descriptor_, -1));
    if (made_ && opened_ && !is_gone(opened_->get(), folder_)) ::rmdir(folder_.c_str());  // of a run that wrote nothing
  }
  opened_.reset();
}

/// False where another holds it.
bool RunFolder::lock(const std::filesystem::path& folder) {
  std::error_code error;
  made_ = std::filesystem::create_directories(folder, error);
  const std::filesystem::path file = folder / run_lock_name;
  for (;;) {
    const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    // Where no file can be made, those who want to write there tell why; where files cannot be locked, none is.
    if (descriptor < 0) return true;
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      const bool held = errno == EWOULDBLOCK;
      if (held) holder_ = holder_of(descriptor);
      ::close(descriptor);
      return !held;
    }
    if (is_gone(descriptor, file)) {
      ::close(descriptor);
      continue;
    }
    const std::string holder = RunHolder::this_process().text();
    // For the message of one that finds the folder taken, and for those who ask whether the run goes on.
    if (::ftruncate(descriptor, 0) == 0) static_cast<void>(!::pwrite(descriptor, holder.data(), holder.size(), 0));
    descriptor_ = descriptor;
    return true;
  }
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

bool RunFolder::is_lost() const {
  if (!opened_) return false;
  return is_gone(opened_->get(), folder_) || (descriptor_ >= 0 && is_gone(descriptor_, folder_ / run_lock_name));
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
    if (!lock(folder_)) continue;
    // Whatever is there by now is not what was there before.
    std::erase_if(seen_, [this](const auto& path) { return is_within(path); });
    try {
      opened_.emplace(folder_, O_RDONLY | O_DIRECTORY);
    } catch (const std::system_error&) {
      // One that cannot be read cannot be watched; those who want to write there tell why they cannot.
    }
    return own;
  }
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

/// Once, before this run writes its first: later ones are its own.
std::vector<std::string> RunFolder::take_unnamed() {
  std::vector<std::string> names;
  if (std::exchange(looked_for_unnamed_, true) || folder_ == start_) return names;
  const std::string prefix = incident_folder_prefix;
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
    paths.push_back(compressed_name(name).string());  // as long files are
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
      log(LOUPE_LOG_WARNING, "what an earlier run left in '" + path.string() + "' cannot be kept: " + error.message());
    } else if (is_record(path)) {
      paths.push_back((folder / run_notes_name).string());  // they speak of that run
    }
  }
  for (const auto& [folder, kept] : kept_in) {
    log(LOUPE_LOG_INFO, "what an earlier run left is kept in '" + kept.string() +
                            "'; with 'resume: true' under run, this one would have gone on with it");
  }
  return !kept_in.empty();
}

}  // namespace loupe
