#ifndef LOUPE_CORE_CATALOGUE_H
#define LOUPE_CORE_CATALOGUE_H

#include <loupe/abi.h>

#include <string>
#include <vector>

#include "core/kind.h"
#include "core/option_set.h"
#include "core/plugin_library.h"

namespace loupe {

/// One component found, and the file it is from.
struct CatalogueEntry {
  Kind kind;
  const loupe_component* component;
  const PluginLibrary* library;
  OptionTable options() const { return {component->options, component->option_count}; }
};

/// Every component of the plugins on the search path. A plugin that cannot be used is a problem; the others still load.
class Catalogue {
 public:
  /// Folders and files, searched in this order; the first component of a name wins. A missing one is a problem.
  void add_path(const std::string& path);
  /// What LOUPE_PLUGIN_PATH names, then the folder that belongs to this build or installation.
  void add_standard_paths();

  /// By name or alias; null when there is none.
  const CatalogueEntry* find(Kind kind, const std::string& name) const;
  std::vector<std::string> names(Kind kind) const;
  const std::vector<CatalogueEntry>& entries() const { return entries_; }
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  void add_file(const std::string& file);
  void add_component(const loupe_component* component, const PluginLibrary& library);

  std::vector<CatalogueEntry> entries_;
  std::vector<std::string> problems_;
  std::vector<std::string> files_;
};

/// The plugin folder beside the program or library that contains this code; empty when there is none.
std::string own_plugin_folder();

}  // namespace loupe

#endif
