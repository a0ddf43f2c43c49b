#pragma once

#include <loupe/files/new_file.h>
#include <loupe/files/output_path.h>

#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

namespace loupe {
inline namespace v1_0 {

/// A file's new contents, which take the old one's place in one step at commit(): a reader sees the old file or the
/// new, never half of one. Devices and pipes are written directly; a link is refused, see followed(). Everything throws
/// std::system_error, and the old file then stands.
class Replacement {
 public:
  explicit Replacement(const std::filesystem::path& file) : Replacement(file, file) {}
  /// @param like a file beside it: who may read and write that one may do so with this one
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
