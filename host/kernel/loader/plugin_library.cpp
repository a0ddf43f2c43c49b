#include "loader/plugin_library.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <loupe/error.h>

#include <boost/dll/shared_library.hpp>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "core/forks.h"
#include "core/log.h"
#include "core/part.h"
#include "loader/plugin_file.h"
#include "loupe/register_plugin.h"

namespace loupe {
namespace {

/// Keeps a library open forever: static destruction must not close it.
void keep_open(std::unique_ptr<boost::dll::shared_library> library) {
  static auto& mutex = *new ProcessMutex();
  static auto& open = *new std::vector<std::unique_ptr<boost::dll::shared_library>>();
  const std::lock_guard lock(mutex);
  open.push_back(std::move(library));
}

PluginLibrary open_plugin(const std::string& file) {
  auto library = std::make_unique<boost::dll::shared_library>();
  boost::dll::fs::error_code error;
  library->load(file, error, boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local);
  if (error) {
    throw Error("the plugin '" + file + "' cannot be loaded: " + linker_words(file) +
                "; check that it is a shared library for this system and that what it links is installed");
  }
  if (!library->has(LOUPE_ENTRY_SYMBOL)) {
    throw Error("'" + file +
                "' is not a Loupe plugin: it does not export " LOUPE_ENTRY_SYMBOL
                "; close the plugin's source with LOUPE_PLUGIN(...), or take the file out of the plugin path");
  }
  PluginLibrary opened = read_entry(library->get<const loupe_entry>(LOUPE_ENTRY_SYMBOL), file);
  opened.path = std::filesystem::absolute(file).string();
  keep_open(std::move(library));
  return opened;
}

/// Throws Error for a plugin of another major version.
void refuse_other_major(const loupe_entry& entry, const std::string& file) {
  if (entry.abi_major != LOUPE_ABI_MAJOR) {
    const bool newer = entry.abi_major > LOUPE_ABI_MAJOR;
    throw Error("the plugin '" + file + "' was built for ABI " + version_text(entry.abi_major, entry.abi_minor) +
                ", this host has " + version_text(LOUPE_ABI_MAJOR, LOUPE_ABI_MINOR) + "; " +
                (newer ? "update Loupe, or rebuild the plugin against this Loupe's SDK"
                       : "rebuild the plugin against this Loupe's SDK"));
  }
}

/// Warns of a function that the plugin exports although the process already has it in a globally visible library: the
/// plugin's own calls reach that one, perhaps of another version. Inline functions are ignored, as those of std are in
/// every library.
void warn_of_mixed_libraries(const ElfFile& elf) {
  for (const ElfW(Phdr) & segment : elf.segments) {
    if (segment.p_type != PT_DYNAMIC || elf.segment_of(segment.p_vaddr, segment.p_filesz) == nullptr) continue;
    for (const auto& entry : elf.table_at<ElfW(Dyn)>(segment.p_vaddr, segment.p_filesz)) {
      if (entry.d_tag == DT_SYMBOLIC || (entry.d_tag == DT_FLAGS && (entry.d_un.d_val & DF_SYMBOLIC) != 0)) return;
    }
  }
  void* const process = ::dlopen(nullptr, RTLD_LAZY);
  for (const ExportedSymbol& symbol : exported_symbols(elf)) {
    if (ELF64_ST_BIND(symbol.entry.st_info) != STB_GLOBAL || symbol.name == LOUPE_ENTRY_SYMBOL ||
        ELF64_ST_VISIBILITY(symbol.entry.st_other) == STV_PROTECTED)
      continue;
    ::Dl_info other{};
    const void* taken = ::dlsym(process, symbol.name.c_str());
    if (taken == nullptr || ::dladdr(taken, &other) == 0) continue;
    const std::unique_ptr<char, decltype(&std::free)> plain(
        abi::__cxa_demangle(symbol.name.c_str(), nullptr, nullptr, nullptr), &std::free);
    log(LOUPE_LOG_WARNING, "the plugin '" + elf.file.path() + "' exports '" + (plain ? plain.get() : symbol.name) +
                               "', which this process also has from '" + other.dli_fname +
                               "': the plugin uses the process's copy, so two versions of a library may be mixed; "
                               "hide the plugin's symbols by loupe_add_plugin or the SDK's plugin.map");
    return;
  }
}

/// The libraries of this process by key. They are never removed, because a trainer's static objects may still use them.
/// A plugin's own code creates an entry, and so runs under no lock.
template <class Key>
class Libraries {
 public:
  /// Null if unknown.
  const PluginLibrary* find(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(key);
    return found != known_.end() ? &found->second : nullptr;
  }
  /// Keeps an entry that another thread added in the meantime. The result is true if the new library was added.
  std::pair<const PluginLibrary*, bool> add(const Key& key, PluginLibrary library) {
    const std::lock_guard lock(mutex_);
    const auto [place, is_new] = known_.emplace(key, std::move(library));
    if (is_new) order_.push_back(&place->second);
    return {&place->second, is_new};
  }
  std::vector<const PluginLibrary*> in_order() {
    const std::lock_guard lock(mutex_);
    return order_;
  }

 private:
  ProcessMutex mutex_;
  std::map<Key, PluginLibrary> known_;
  std::vector<const PluginLibrary*> order_;
};

Libraries<const loupe_entry*>& registered() {
  static auto* const all = new Libraries<const loupe_entry*>();
  return *all;
}

}  // namespace

std::string version_text(uint32_t major, uint32_t minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

PluginLibrary read_entry(const loupe_entry& entry, const std::string& file) {
  if (entry.magic != LOUPE_MAGIC) {
    throw Error("'" + file +
                "' exports " LOUPE_ENTRY_SYMBOL " without Loupe's mark; rebuild it against loupe/plugin.h");
  }
  refuse_other_major(entry, file);
  const auto* plugin = static_cast<const loupe_plugin*>(entry.get_extension(LOUPE_PLUGIN_ID));
  if (plugin == nullptr || plugin->struct_size < offsetof(loupe_plugin, component_count) + sizeof(std::size_t)) {
    throw Error("the plugin '" + file + "' (ABI " + version_text(entry.abi_major, entry.abi_minor) + ", host " +
                version_text(LOUPE_ABI_MAJOR, LOUPE_ABI_MINOR) +
                ") does not offer " LOUPE_PLUGIN_ID
                "; one of its components' declarations failed, or it was built wrongly");
  }
  if (plugin->name == nullptr || plugin->version == nullptr ||
      (plugin->components == nullptr && plugin->component_count > 0)) {
    throw Error("the plugin '" + file + "' has no name, no version or no list of its components; " +
                "fill them in its loupe_plugin");
  }
  return {.file = file, .path = "", .plugin = plugin, .abi_major = entry.abi_major, .abi_minor = entry.abi_minor};
}

const PluginLibrary& load_plugin(const std::string& file) {
  static auto& loaded = *new Libraries<std::string>();
  const ForksHeld whole;
  if (const PluginLibrary* known = loaded.find(file)) return *known;
  const PluginFile bytes(file);
  const ElfFile elf(bytes);
  // Check this before loading, which may already run code of the plugin: the constructors of its static objects.
  const std::optional<loupe_entry> entry = read_exported_entry(elf);
  if (entry && entry->magic == LOUPE_MAGIC) refuse_other_major(*entry, file);
  const auto [library, is_new] = loaded.add(file, open_plugin(file));
  if (is_new) warn_of_mixed_libraries(elf);
  return *library;
}

void register_plugin(const loupe_entry& entry) {
  if (registered().find(&entry) != nullptr) return;
  PluginLibrary library = read_entry(entry, "a plugin linked into this program");
  library.file = std::string(library.plugin->name) + " (linked into this program)";
  registered().add(&entry, std::move(library));
}

std::vector<const PluginLibrary*> registered_plugins() {
  return registered().in_order();
}

}  // namespace loupe
