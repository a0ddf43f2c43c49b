#pragma once

#include <loupe/files/descriptor.h>
#include <loupe/visualizer.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

namespace loupe {
inline namespace v1_0 {

/// The current target of a link at this path. Loupe does not write through a link that is created later.
inline std::filesystem::path followed(const std::filesystem::path& path) {
  std::error_code error;
  if (is_system_link(path) || !std::filesystem::is_symlink(path, error)) return path;
  const std::filesystem::path target = std::filesystem::canonical(path, error);
  return error ? path : target;
}

/// The place of the file or folder of the option `path`. Create it in a component's constructor, as a trainer may
/// change its working directory later. A link that exists when a run begins is followed, a later one is not. The host
/// moves an earlier run's output at a visualizer's `path` away, so unless a run resumes, it finds none there.
class OutputPath {
 public:
  /// Throws Error if the option is empty.
  explicit OutputPath(const Options& options) : OutputPath(options.get<std::string>("path")) {
    if (path_.empty()) throw Error("the option 'path' is empty; name a file", LOUPE_INVALID);
  }
  explicit OutputPath(const std::string& path) : path_(path) {
    std::error_code no_matter;
    start_ = std::filesystem::current_path(no_matter);
  }

  /// The path itself if absolute, else in the run's directory, else in the initial working directory.
  std::filesystem::path in(const std::string& run_directory) const { return followed(named_in(run_directory)); }
  std::filesystem::path in(const Run& run) const { return in(std::string(run.directory)); }
  /// The same without following a link.
  std::filesystem::path named_in(const std::string& run_directory) const {
    return (start_ / run_directory / path_).lexically_normal();
  }

 private:
  std::filesystem::path path_, start_;
};

/// Creates the folder of a file. Throws std::system_error.
inline void make_folder_of(const std::filesystem::path& file) {
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  if (error) throw std::system_error(error);
}

/// Checks, before hours of training, whether a file can be written: creates its folder and tests the right to write
/// there. Does not touch an existing file. Throws std::system_error.
inline void check_writable(const std::filesystem::path& file) {
  make_folder_of(file);
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (std::filesystem::is_directory(status)) throw std::system_error(EISDIR, std::generic_category());
  const bool replaced = !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
  const std::filesystem::path target = replaced ? file.parent_path() : file;
  if (::faccessat(AT_FDCWD, target.c_str(), W_OK, AT_EACCESS) != 0) {
    throw std::system_error(errno, std::generic_category());
  }
}

/// Why a file cannot be written, in words.
inline std::string reason_of(const std::system_error& reason) {
  if (reason.code() != std::errc::too_many_symbolic_link_levels) return reason.code().message();
  return "it is a symbolic link, which Loupe does not write through; remove the link";
}

/// The error for a file that cannot be written.
inline Error cannot_write(const std::filesystem::path& file, const std::system_error& reason,
                          const std::string& consequence) {
  return Error("cannot write '" + file.string() + "': " + reason_of(reason) + "; " + consequence);
}

namespace detail {

/// A place for `path` in the newest of the folders "older-1", "older-2", … beside it, or in a new one if that already
/// contains the name, or was last changed before `since` and so belongs to an earlier run.
inline std::filesystem::path older_place(const std::filesystem::path& path, double since) {
  const auto folder = [&](int number) { return path.parent_path() / ("older-" + std::to_string(number)); };
  int newest = 0;
  while (std::filesystem::exists(folder(newest + 1))) ++newest;
  constexpr double slack = 1.1;  // times have whole seconds and may lag behind the clock
  struct stat status {};
  const bool is_this_runs = newest > 0 && ::stat(folder(newest).c_str(), &status) == 0 &&
                            static_cast<double>(status.st_mtime) + slack > since;
  if (!is_this_runs || std::filesystem::exists(folder(newest) / path.filename())) ++newest;
  std::filesystem::create_directory(folder(newest));
  return folder(newest) / path.filename();
}

}  // namespace detail

/// Protects an earlier run's file at `path` from being overwritten: moves it into a folder "older-1", "older-2", …
/// beside it, and returns the new path. The host does so for the `path` of visualizers; lenses call this for their
/// files.
/// @param since when this run started, in seconds since 1970: all that this run moves goes into one folder.
/// Throws std::system_error.
inline std::filesystem::path keep_older(const std::filesystem::path& path, double since = 0) {
  const std::filesystem::path kept = detail::older_place(path, since);
  std::filesystem::rename(path, kept);
  return kept;
}

/// The same for a file that is about to be replaced, which stays in place until then.
inline std::filesystem::path keep_replaced(const std::filesystem::path& file, double since = 0) {
  const std::filesystem::path kept = detail::older_place(file, since);
  std::error_code cannot_link;
  std::filesystem::create_hard_link(file, kept, cannot_link);
  if (cannot_link) std::filesystem::copy_file(file, kept);
  return kept;
}

}  // namespace v1_0
}  // namespace loupe
