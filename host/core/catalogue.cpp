#include "core/catalogue.h"

#include <loupe/error.h>

#include <algorithm>
#include <boost/dll/runtime_symbol_info.hpp>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace loupe {
namespace {

namespace fs = std::filesystem;

struct KindId {
  const char* id;
  const char* name;
  std::size_t minimum_table;  // the members that the host cannot do without
};
const KindId kind_ids[] = {
    {LOUPE_GATHERER_ID, "gatherer", offsetof(loupe_gatherer, event) + sizeof(void*)},
    {LOUPE_PREPROCESSOR_ID, "preprocessor", offsetof(loupe_preprocessor, reset) + sizeof(void*)},
    {LOUPE_LENS_ID, "lens", offsetof(loupe_lens, report) + sizeof(void*)},
    {LOUPE_VISUALIZER_ID, "visualizer", offsetof(loupe_visualizer, value) + sizeof(void*)},
};

}  // namespace

const char* kind_name(Kind kind) {
  return kind_ids[static_cast<int>(kind)].name;
}

std::string own_plugin_folder() {
  const fs::path here = fs::path(boost::dll::this_line_location().string()).parent_path();
  const std::initializer_list<fs::path> candidates = {here / "loupe/plugins", here / "../lib/loupe/plugins",
                                                      here / LOUPE_INSTALL_PLUGINS};
  for (const fs::path& candidate : candidates) {
    if (fs::is_directory(candidate)) return fs::canonical(candidate).string();
  }
  return "";
}

void Catalogue::add_path(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(path, error)) {
      if (entry.path().extension() == ".so") files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    for (const std::string& file : files) add_file(file);
  } else if (fs::exists(path, error)) {
    add_file(path);
  } else {
    problems_.push_back("the plugin path '" + path + "' does not exist; correct it, or build what should be there");
  }
}

void Catalogue::add_standard_paths() {
  if (const char* variable = std::getenv("LOUPE_PLUGIN_PATH")) {
    std::istringstream list(variable);
    for (std::string path; std::getline(list, path, ':');) {
      if (!path.empty()) add_path(path);
    }
  }
  const std::string own = own_plugin_folder();
  if (!own.empty()) add_path(own);
}

void Catalogue::add_file(const std::string& file) {
  std::error_code error;
  const fs::path canonical = fs::canonical(file, error);
  const std::string path = error ? file : canonical.string();
  if (std::find(files_.begin(), files_.end(), path) != files_.end()) return;
  files_.push_back(path);
  try {
    const PluginLibrary& library = load_plugin(path);
    for (std::size_t i = 0; i < library.plugin->component_count; ++i)
      add_component(library.plugin->components[i], library);
  } catch (const std::exception& e) {
    problems_.emplace_back(e.what());
  }
}

void Catalogue::add_component(const loupe_component* component, const PluginLibrary& library) {
  const auto needed = offsetof(loupe_component, destroy) + sizeof(void*);
  if (component == nullptr || component->struct_size < needed || component->table == nullptr) {
    problems_.push_back("the plugin '" + library.file +
                        "' offers a component that is cut short; rebuild it against this Loupe's SDK");
    return;
  }
  const std::string where = "the component '" + std::string(component->name) + "' of '" + library.file + "'";
  const auto* known = std::find_if(std::begin(kind_ids), std::end(kind_ids),
                                   [&](const KindId& each) { return std::string(each.id) == component->interface_id; });
  if (known == std::end(kind_ids)) {
    problems_.push_back(where + " is a '" + component->interface_id + "', which this host does not know; update Loupe");
    return;
  }
  uint32_t table_size = 0;
  std::memcpy(&table_size, component->table, sizeof table_size);
  if (table_size < known->minimum_table) {
    problems_.push_back(where + " lacks functions that every " + known->name +
                        " has; rebuild it against this Loupe's SDK");
    return;
  }
  const auto kind = static_cast<Kind>(known - std::begin(kind_ids));
  if (const CatalogueEntry* first = find(kind, component->name)) {
    problems_.push_back(where + " (ABI " + std::to_string(library.abi_major) + "." + std::to_string(library.abi_minor) +
                        ") is left out: '" + first->library->file + "' (ABI " +
                        std::to_string(first->library->abi_major) + "." + std::to_string(first->library->abi_minor) +
                        ") already has a " + known->name +
                        " of that name; rename one, or take one file out of the plugin path");
    return;
  }
  entries_.push_back({kind, component, &library});
}

const CatalogueEntry* Catalogue::find(Kind kind, const std::string& name) const {
  for (const CatalogueEntry& entry : entries_) {
    if (entry.kind != kind) continue;
    const loupe_component& component = *entry.component;
    if (component.name == name) return &entry;
    const bool has_aliases = component.struct_size >= offsetof(loupe_component, alias_count) + sizeof(std::size_t);
    for (std::size_t i = 0; has_aliases && i < component.alias_count; ++i) {
      if (component.aliases[i] == name) return &entry;
    }
  }
  return nullptr;
}

std::vector<std::string> Catalogue::names(Kind kind) const {
  std::vector<std::string> names;
  for (const CatalogueEntry& entry : entries_) {
    if (entry.kind == kind) names.emplace_back(entry.component->name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace loupe
