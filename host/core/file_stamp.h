#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>

namespace loupe {

/// A file as it was when it was looked at: another one, or one that was written to, has another.
struct FileStamp {
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t changed_ns = 0;  ///< since 1970

  static FileStamp of(const struct stat& status);
  /// Of a file by its name, not followed where it is a link; all 0 where there is none.
  static FileStamp of(const std::filesystem::path& file);
  bool operator==(const FileStamp&) const = default;
};

}  // namespace loupe
