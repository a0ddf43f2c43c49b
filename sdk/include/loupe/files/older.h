#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

namespace loupe {
inline namespace v1_0 {
namespace detail {

/// A place for `path` in the newest of the folders "older-1", "older-2", … beside it, or in a new one where that has
/// something of its name already, or was last changed before `since`: then it is of an earlier run.
inline std::filesystem::path older_place(const std::filesystem::path& path, double since) {
  const auto folder = [&](int number) { return path.parent_path() / ("older-" + std::to_string(number)); };
  int newest = 0;
  while (std::filesystem::exists(folder(newest + 1))) ++newest;
  constexpr double slack = 1.1;  // of whole seconds, which lag behind the clock besides
  struct stat status {};
  const bool is_this_runs = newest > 0 && ::stat(folder(newest).c_str(), &status) == 0 &&
                            static_cast<double>(status.st_mtime) + slack > since;
  if (!is_this_runs || std::filesystem::exists(folder(newest) / path.filename())) ++newest;
  std::filesystem::create_directory(folder(newest));
  return folder(newest) / path.filename();
}

}  // namespace detail

/// Keeps what an earlier run left at `path` from being written over: moves it into a folder "older-1", "older-2", …
/// beside it, and gives where it now is. The host does so for the `path` of visualizers; this is for what a lens
/// writes.
/// @param since when this run started, in seconds since 1970: what it keeps goes together, apart from what others kept.
/// Throws std::system_error.
inline std::filesystem::path keep_older(const std::filesystem::path& path, double since = 0) {
  const std::filesystem::path kept = detail::older_place(path, since);
  std::filesystem::rename(path, kept);
  return kept;
}

/// The same for a file that is about to be replaced, and stays where it is until then.
inline std::filesystem::path keep_replaced(const std::filesystem::path& file, double since = 0) {
  const std::filesystem::path kept = detail::older_place(file, since);
  std::error_code cannot_link;
  std::filesystem::create_hard_link(file, kept, cannot_link);
  if (cannot_link) std::filesystem::copy_file(file, kept);
  return kept;
}

}  // namespace v1_0
}  // namespace loupe
