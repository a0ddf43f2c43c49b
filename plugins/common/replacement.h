#ifndef LOUPE_COMMON_REPLACEMENT_H
#define LOUPE_COMMON_REPLACEMENT_H

#include <fcntl.h>

#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "common/descriptor.h"
#include "common/output_path.h"

namespace loupe {

/// A file's new contents, which take the old one's place in one step at commit(): a reader sees the old file or the
/// new, never half of one. Devices and pipes are written directly. Everything throws std::system_error, and the old
/// file then stands.
class Replacement {
 public:
  explicit Replacement(const std::filesystem::path& file)
      : target_(resolved(file)), direct_(is_special(target_)), output_(prepared(), direct_ ? O_WRONLY : write_new) {
    struct stat old {};
    if (!direct_ && ::stat(target_.c_str(), &old) == 0 && ::fchmod(output_.get(), old.st_mode & 07777) != 0) {
      const std::system_error reason = last_error();
      ::unlink(written_to().c_str());
      throw reason;
    }
  }
  ~Replacement() {
    if (!direct_ && !committed_) ::unlink(written_to().c_str());
  }
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;

  void write(std::string_view text) { write_all(output_.get(), text); }

  /// @param sync whether to wait until the new contents are on the disk
  void commit(bool sync) {
    if (sync) output_.sync();
    if (direct_) return;
    if (::rename(written_to().c_str(), target_.c_str()) != 0) throw last_error();
    committed_ = true;
    if (sync) Descriptor(target_.parent_path(), O_RDONLY | O_DIRECTORY).sync();
  }

 private:
  static constexpr int write_new = O_WRONLY | O_CREAT | O_TRUNC;

  // A link keeps pointing where it did.
  static std::filesystem::path resolved(const std::filesystem::path& file) {
    std::error_code ignored;
    const std::filesystem::path target = std::filesystem::canonical(file, ignored);
    return target.empty() ? file : target;
  }
  static bool is_special(const std::filesystem::path& file) {
    std::error_code ignored;
    const auto status = std::filesystem::status(file, ignored);
    if (std::filesystem::is_directory(status)) throw std::system_error(EISDIR, std::generic_category());
    return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
  }
  std::filesystem::path written_to() const { return direct_ ? target_ : std::filesystem::path(target_) += ".tmp"; }
  std::filesystem::path prepared() const {
    if (!direct_) make_folder_of(target_);
    return written_to();
  }

  std::filesystem::path target_;
  bool direct_;
  bool committed_ = false;
  Descriptor output_;
};

}  // namespace loupe

#endif
