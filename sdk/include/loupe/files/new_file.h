#ifndef LOUPE_FILES_NEW_FILE_H
#define LOUPE_FILES_NEW_FILE_H

#include <loupe/files/descriptor.h>

#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <system_error>

namespace loupe {

/// A file that nobody had before, beside the one whose place it is to take: under a name that cannot be guessed, and
/// never through a link that another user of the folder laid. Gone with this object, unless it took that place.
/// Everything throws std::system_error.
class NewFile {
 public:
  /// @param target an absolute path, whose folder is there  @param like a file in that folder: who may read and write
  /// that one may do so with this one
  NewFile(const std::filesystem::path& target, const std::filesystem::path& like)
      : folder_(target.parent_path(), O_RDONLY | O_DIRECTORY),
        target_(target.filename()),
        name_("." + target_.string() + "." + random_text() + ".tmp"),
        output_(folder_, name_, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW) {
    struct stat old {};
    if (::fstatat(folder_.get(), like.filename().c_str(), &old, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(old.st_mode))
      return;
    // Not that it runs with its owner's rights: its contents are others now.
    if (::fchmod(output_.get(), old.st_mode & 0777) == 0) return;
    const std::system_error reason = last_error();
    remove();
    throw reason;
  }
  ~NewFile() {
    if (!name_.empty()) remove();
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view text) { write_all(output_.get(), text); }
  /// @param sync whether to wait until the contents are on the disk
  void take_the_place(bool sync) {
    if (sync) output_.sync();
    if (::renameat(folder_.get(), name_.c_str(), folder_.get(), target_.c_str()) != 0) throw last_error();
    name_.clear();
    if (sync) folder_.sync();
  }

 private:
  static std::string random_text() {
    std::random_device source;  // the kernel's
    const std::uint64_t number = (std::uint64_t{source()} << 32) | source();
    return std::to_string(number);
  }
  void remove() { ::unlinkat(folder_.get(), name_.c_str(), 0); }

  Descriptor folder_;
  std::filesystem::path target_;
  std::string name_;  // empty once it took the place
  Descriptor output_;
};

}  // namespace loupe

#endif
