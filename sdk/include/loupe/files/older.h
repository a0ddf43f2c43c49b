#ifndef LOUPE_FILES_OLDER_H
#define LOUPE_FILES_OLDER_H

#include <filesystem>
#include <string>

namespace loupe {

/// Keeps what an earlier run left at `path` from being written over: moves it into the newest of the folders "older-1",
/// "older-2", … beside it, or a new one where that has something of its name already; gives where it now is. The host
/// does so for the `path` of visualizers; this is for what a lens writes. Throws std::system_error.
inline std::filesystem::path keep_older(const std::filesystem::path& path) {
  const auto folder = [&](int number) { return path.parent_path() / ("older-" + std::to_string(number)); };
  int newest = 0;
  while (std::filesystem::exists(folder(newest + 1))) ++newest;
  if (newest == 0 || std::filesystem::exists(folder(newest) / path.filename())) ++newest;
  std::filesystem::create_directory(folder(newest));
  const std::filesystem::path kept = folder(newest) / path.filename();
  std::filesystem::rename(path, kept);
  return kept;
}

}  // namespace loupe

#endif
