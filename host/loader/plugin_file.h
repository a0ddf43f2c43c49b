#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace loupe {

/// A file that may be a plugin, open for reading. Waits for nothing: what is no regular file (a pipe, a device, a
/// folder) is refused, as is what other users may change.
class PluginFile {
 public:
  /// Throws Error naming the file, what is wrong and what to do.
  explicit PluginFile(std::string path);
  ~PluginFile();
  PluginFile(const PluginFile&) = delete;
  PluginFile& operator=(const PluginFile&) = delete;

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  /// Throws Error where the file has fewer bytes from there.
  void need(std::uint64_t offset, std::uint64_t size) const;
  /// That many bytes from there, which the file must have.
  std::vector<char> read(std::uint64_t offset, std::uint64_t size) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

/// A plugin runs with all rights of the trainer, so whoever may change it may do what the trainer may. Trusted are
/// root, this process's user, and who may change the running program or Loupe, and so decides what it does anyway.
/// Returns why the file or folder is not to be trusted, with the remedy; empty where it is.
std::string trust_fault(const std::string& path, const struct ::stat& status);

/// The same by its path; a folder that is not there has no fault.
std::string trust_fault(const std::string& path);

}  // namespace loupe
