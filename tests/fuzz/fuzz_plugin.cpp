// All bytes in a plugin path are either refused, or list their components before any of their code runs.

#include <fcntl.h>
#include <loupe/error.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "loader/plugin_file.h"

namespace {

/// A file that only this process uses. The destructor removes it.
struct Plugin {
  Plugin() : descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {
    if (descriptor < 0) std::abort();
  }
  ~Plugin() { ::unlink(path.c_str()); }
  const std::string path =
      (std::filesystem::temp_directory_path() / ("loupe-fuzz-" + std::to_string(::getpid()) + ".so")).string();
  const int descriptor;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  static const Plugin plugin;
  if (::ftruncate(plugin.descriptor, 0) != 0 ||
      ::pwrite(plugin.descriptor, data, size, 0) != static_cast<::ssize_t>(size))
    std::abort();
  try {
    const loupe::PluginFile file(plugin.path);
    const loupe::ElfFile elf(file);
    const loupe::ComponentIndex index = loupe::read_index(elf);
    if (!index.noted && !index.components.empty()) std::abort();
    if (loupe::exported_symbols(elf).size() > size) std::abort();
  } catch (const loupe::Error& e) {
    if (std::string(e.what()).find(plugin.path) == std::string::npos) std::abort();
  }
  return 0;
}
