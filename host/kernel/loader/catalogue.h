#pragma once

#include <loupe/abi.h>

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "loader/kind.h"
#include "loader/plugin_file.h"
#include "loader/plugin_library.h"
#include "options/option_set.h"

namespace loupe {

/// The order of plugins: whether the file has no note, and so comes after all that have one; and its number in the
/// path, from 1, or 0 for a plugin of the program.
using PluginPlace = std::pair<bool, std::size_t>;

/// One component found, and the file it is from.
struct CatalogueEntry {
  Kind kind;
  const loupe_component* component;
  const PluginLibrary* library;
  PluginPlace place = {};
  OptionTable options() const { return {component->options, component->option_count}; }
};

/// The components of the plugins on the search path. A file in a folder is loaded only when one of its components is
/// needed, so that no code runs just because it is there; a note in the file says what it contains. A plugin that
/// cannot be used becomes a problem, and the others still work. One thread.
class Catalogue {
 public:
  /// The components that the program registered.
  void add_registered();
  /// Adds a folder, or a file, which is loaded at once. A missing path becomes a problem. Relative paths start at the
  /// current working directory. Returns whether it is a folder that could be read.
  bool add_path(const std::string& path);
  /// Adds a plugin that is already loaded or linked. It outlives the components created from it.
  void add_plugin(const PluginLibrary& library) { add_components(library, {}); }
  /// Adds the paths of LOUPE_PLUGIN_PATH (not in a program with another user's rights), then the folder of this build
  /// or installation.
  void add_standard_paths();
  /// Opens every plugin, to list all components.
  void open_all();

  /// Finds a component by name or alias, loading its plugin if needed; null without one. Pointers stay valid. See
  /// loupe_component for the order of several.
  const CatalogueEntry* find(Kind kind, const std::string& name) const;
  /// All names that are known without opening another plugin, sorted.
  std::vector<std::string> names(Kind kind) const;
  /// Ends the sentence that find() found nothing: the nearest name, all names, or the places searched; and why a plugin
  /// with that name could not be used. Begins with "; ".
  std::string hint(Kind kind, const std::string& name) const;
  /// The components of the plugins that are open.
  const std::deque<CatalogueEntry>& entries() const { return entries_; }
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  struct File {
    std::string path;
    ComponentIndex index = {};
    bool opened = false;
    PluginPlace place = {};
    std::string problem = {};
  };
  void add_file(const std::string& file, bool open_now);
  void tell_doubles(const File& file);
  void open(File& file) const;
  void add_components(const PluginLibrary& library, PluginPlace place) const;
  void add_component(const loupe_component* component, const PluginLibrary& library, PluginPlace place) const;
  void add_entry(const CatalogueEntry& entry) const;
  /// The first component with the name or alias, among the plugins with a note or among the others (`is_silent`).
  const CatalogueEntry* first(Kind kind, const std::string& name, bool as_alias, bool is_silent) const;
  const CatalogueEntry* first_open(Kind kind, const std::string& name, bool as_alias, bool is_silent) const;
  std::string other_kind_hint(Kind kind, const std::string& name) const;

  std::vector<std::string> searched_, empty_folders_;
  // Looking up a name may load the plugin that has it.
  mutable std::deque<File> files_;
  mutable std::deque<CatalogueEntry> entries_;
  mutable std::vector<std::string> problems_;
};

/// The plugin folder beside the program or library that contains this code; empty without one.
std::string own_plugin_folder();

}  // namespace loupe
