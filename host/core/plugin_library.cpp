#include "core/plugin_library.h"

#include <loupe/error.h>

#include <elf.h>
#include <link.h>

#include <boost/dll/shared_library.hpp>
#include <cstddef>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

namespace loupe {
namespace {

/// The dynamic linker maps what a file's header promises, and touching what is not there kills the program.
void check_is_whole(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  ElfW(Ehdr) header{};
  if (!stream.read(reinterpret_cast<char*>(&header), sizeof header)) return;  // dlopen tells what is wrong
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(ElfW(Phdr))) return;
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  stream.seekg(static_cast<std::streamoff>(header.e_phoff));
  for (int i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) part{};
    const bool read = static_cast<bool>(stream.read(reinterpret_cast<char*>(&part), sizeof part));
    if (read && (part.p_type != PT_LOAD || (part.p_offset <= size && part.p_filesz <= size - part.p_offset))) continue;
    throw Error("the plugin '" + file + "' is cut short: its " + std::to_string(size) +
                " bytes are fewer than its header tells of; copy or build it again");
  }
}

PluginLibrary open_plugin(const std::string& file) {
  check_is_whole(file);
  // Never destroyed, so that static destruction closes nothing.
  static auto* const libraries = new std::deque<boost::dll::shared_library>();
  boost::dll::shared_library* library = &libraries->emplace_back();
  try {
    library->load(file, boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local);
  } catch (const std::exception& e) {
    libraries->pop_back();
    throw Error("the plugin '" + file + "' cannot be loaded: " + e.what() +
                "; check that it is a shared library for this system and that what it links is installed");
  }
  if (!library->has(LOUPE_ENTRY_SYMBOL)) {
    throw Error("'" + file +
                "' is no Loupe plugin: it does not export " LOUPE_ENTRY_SYMBOL
                "; close the plugin's source with LOUPE_PLUGIN(...), or take the file out of the plugin path");
  }
  const auto& entry = library->get<const loupe_entry>(LOUPE_ENTRY_SYMBOL);
  if (entry.magic != LOUPE_MAGIC) {
    throw Error("'" + file +
                "' exports " LOUPE_ENTRY_SYMBOL " without Loupe's mark; rebuild it against loupe/plugin.h");
  }
  if (entry.abi_major != LOUPE_ABI_MAJOR) {
    const bool newer = entry.abi_major > LOUPE_ABI_MAJOR;
    throw Error("the plugin '" + file + "' was built for ABI " + version_text(entry.abi_major, entry.abi_minor) +
                ", this host has " + version_text(LOUPE_ABI_MAJOR, LOUPE_ABI_MINOR) + "; " +
                (newer ? "update Loupe, or rebuild the plugin against this Loupe's SDK"
                       : "rebuild the plugin against this Loupe's SDK"));
  }
  const auto* plugin = static_cast<const loupe_plugin*>(entry.get_interface(LOUPE_PLUGIN_ID));
  if (plugin == nullptr || plugin->struct_size < offsetof(loupe_plugin, component_count) + sizeof(std::size_t)) {
    throw Error("the plugin '" + file + "' (ABI " + version_text(entry.abi_major, entry.abi_minor) + ", host " +
                version_text(LOUPE_ABI_MAJOR, LOUPE_ABI_MINOR) +
                ") does not offer " LOUPE_PLUGIN_ID
                "; one of its components' declarations failed, or it was built wrongly");
  }
  return {file, plugin, entry.abi_major, entry.abi_minor};
}

}  // namespace

std::string version_text(uint32_t major, uint32_t minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

const PluginLibrary& load_plugin(const std::string& file) {
  static std::mutex mutex;
  static std::map<std::string, PluginLibrary> loaded;
  const std::lock_guard lock(mutex);
  const auto found = loaded.find(file);
  if (found != loaded.end()) return found->second;
  return loaded.emplace(file, open_plugin(file)).first->second;
}

}  // namespace loupe
