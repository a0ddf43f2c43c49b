#ifndef LOUPE_PLUGINS_PLUGIN_FILE_H
#define LOUPE_PLUGINS_PLUGIN_FILE_H

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
  /// That many bytes from there. Throws Error where the file has fewer.
  std::vector<char> read(std::uint64_t offset, std::uint64_t size) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace loupe

#endif
