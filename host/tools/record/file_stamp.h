#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>

namespace loupe {

/// Identifies a file and its state: changes when the file is replaced or written to.
struct FileStamp {
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t changed_ns = 0;  ///< since 1970

  static FileStamp of(const struct stat& status);
  /// The stamp of a file, without following links; all 0 without one.
  static FileStamp of(const std::filesystem::path& file);
  bool operator==(const FileStamp&) const = default;
};

}  // namespace loupe
