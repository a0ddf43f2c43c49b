#pragma once

#include <loupe/detail/random_number.h>
#include <loupe/files/descriptor.h>
#include <loupe/files/output_path.h>

#include <sys/file.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace loupe {
inline namespace v1_0 {

/// A new file beside the one that it will replace: its name cannot be guessed, and it is never opened through another
/// user's link. The destructor removes it unless it was renamed over the target. All members throw std::system_error.
class NewFile {
 public:
  /// @param target an absolute path in an existing folder  @param like a file in that folder, whose permissions the new
  /// file gets
  NewFile(const std::filesystem::path& target, const std::filesystem::path& like)
      : folder_(target.parent_path(), O_RDONLY | O_DIRECTORY), target_(target.filename()) {
    create();
    struct stat old {};
    if (::fstatat(folder_.get(), like.filename().c_str(), &old, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(old.st_mode))
      return;
    // Without set-user-ID bits: the contents are different now.
    if (::fchmod(output_->get(), old.st_mode & 0777) == 0) return;
    const std::system_error reason = last_error();
    remove();
    throw reason;
  }
  ~NewFile() {
    if (!name_.empty()) remove();
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view text) { write_all(output_->get(), text); }
  /// @param sync whether to wait until the contents are on the disk
  void take_the_place(bool sync) {
    if (sync) output_->sync();
    if (::renameat(folder_.get(), name_.c_str(), folder_.get(), target_.c_str()) != 0) throw last_error();
    name_.clear();
    if (sync) folder_.sync();
  }

  /// Removes the files that killed processes left in a folder.
  /// @param name  the target's name; empty for all targets
  static void remove_left_behind(const std::filesystem::path& folder, const std::string& name = "") {
    std::error_code none;
    for (const auto& each : std::filesystem::directory_iterator(folder, none)) {
      if (!is_name_of_one(each.path().filename().string(), name)) continue;
      try {
        const Descriptor file(each.path(), O_RDONLY | O_NOFOLLOW);
        const bool is_nobodys = S_ISREG(file.status().st_mode) && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0;
        if (is_nobodys) ::unlink(each.path().c_str());
      } catch (const std::system_error&) {
        // It was already removed, or belongs to another user.
      }
    }
  }

 private:
  /// The file stays locked while this process lives, for remove_left_behind: another thread or process may call that
  /// before the lock, and remove the file.
  void create() {
    constexpr int tries = 1000;  // each is as likely to fail if a thread cleans up all the time
    for (int i = 0;; ++i) {
      name_ = "." + target_.string() + "." + std::to_string(detail::random_number()) + ".tmp";
      output_.emplace(folder_, name_, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
      while (::flock(output_->get(), LOCK_EX) != 0 && errno == EINTR) {
      }
      struct stat there {};
      if (::fstatat(folder_.get(), name_.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 || i + 1 == tries) return;
    }
  }
  static bool is_name_of_one(const std::string& file, const std::string& target) {
    constexpr std::string_view end = ".tmp", digits = "0123456789";
    const std::string begin = "." + target + (target.empty() ? "" : ".");
    if (file.size() <= begin.size() + end.size() || file.compare(0, begin.size(), begin) != 0) return false;
    const std::size_t behind = file.size() - end.size();
    const std::size_t point = file.find_last_not_of(digits, behind - 1);
    return file.compare(behind, end.size(), end) == 0 && point != std::string::npos && file[point] == '.' &&
           point + 1 < behind && point > 0 && point + 1 >= begin.size();
  }
  void remove() { ::unlinkat(folder_.get(), name_.c_str(), 0); }

  Descriptor folder_;
  std::filesystem::path target_;
  std::string name_;  // empty after the rename
  std::optional<Descriptor> output_;
};

/// A file's new contents, which replace the old ones in one step at commit(): a reader sees the old file or the new,
/// never a mixture. Devices and pipes are written directly; a link is refused, see followed(). All members throw
/// std::system_error, and the old file then stays.
class Replacement {
 public:
  explicit Replacement(const std::filesystem::path& file) : Replacement(file, file) {}
  /// @param like a file beside it, whose permissions the file gets
  Replacement(const std::filesystem::path& file, const std::filesystem::path& like) {
    const std::filesystem::path target = std::filesystem::absolute(file);
    std::error_code no_matter;
    if (!is_system_link(target) && std::filesystem::is_symlink(target, no_matter))
      throw std::system_error(ELOOP, std::generic_category());
    if (is_special(target)) {
      special_.emplace(target, O_WRONLY);
      return;
    }
    make_folder_of(target);
    file_.emplace(target, like);
  }

  void write(std::string_view text) { special_ ? write_all(special_->get(), text) : file_->write(text); }

  /// @param sync whether to wait until the new contents are on the disk
  void commit(bool sync) {
    if (file_) return file_->take_the_place(sync);
    if (sync) special_->sync();
  }

 private:
  static bool is_special(const std::filesystem::path& file) {
    std::error_code no_matter;
    const auto status = std::filesystem::status(file, no_matter);
    if (std::filesystem::is_directory(status)) throw std::system_error(EISDIR, std::generic_category());
    return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
  }

  std::optional<NewFile> file_;
  std::optional<Descriptor> special_;
};

}  // namespace v1_0
}  // namespace loupe
