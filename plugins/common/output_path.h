#ifndef LOUPE_COMMON_OUTPUT_PATH_H
#define LOUPE_COMMON_OUTPUT_PATH_H

#include <loupe/visualizer.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

namespace loupe {

/// The option `path` of a visualizer that writes a file. Throws Error when it is empty.
inline std::string path_option(const Options& options) {
  std::string path = options.get<std::string>("path");
  if (path.empty()) throw Error("the option 'path' is empty; name a file", LOUPE_INVALID);
  return path;
}

/// Where that file belongs: `path` as it is when absolute, else in the run's directory, else in the working directory
/// of this moment. The trainer may change its working directory later.
inline std::filesystem::path output_path(const Run& run, const std::string& path) {
  return std::filesystem::absolute(std::filesystem::path(run.directory) / path).lexically_normal();
}

/// Makes the folder of a file. Throws std::system_error.
inline void make_folder_of(const std::filesystem::path& file) {
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  if (error) throw std::system_error(error);
}

/// Finds out, before hours of training, whether a file can be written: makes its folder and asks for the right to write
/// there. Leaves an existing file alone. Throws std::system_error.
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

/// The sentence for a file that cannot be written.
inline Error cannot_write(const std::filesystem::path& file, const std::system_error& reason,
                          const std::string& consequence) {
  return Error("cannot write '" + file.string() + "': " + reason.code().message() + "; " + consequence);
}

}  // namespace loupe

#endif
