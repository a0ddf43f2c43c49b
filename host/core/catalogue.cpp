#include "core/catalogue.h"

#include <loupe/error.h>

#include <errno.h>

#include <algorithm>
#include <boost/dll/runtime_symbol_info.hpp>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "core/any_size.h"

namespace loupe {
namespace {

namespace fs = std::filesystem;

std::string versions(const PluginLibrary& library) {
  return "(ABI " + version_text(library.abi_major, library.abi_minor) + ", this host " +
         version_text(LOUPE_ABI_MAJOR, LOUPE_ABI_MINOR) + ")";
}

/// What is wrong with a component's description, in words that follow its name; empty when nothing is.
std::string option_fault(const loupe_component& component) {
  if (component.option_count > 0 && component.options == nullptr) return "counts options that it does not give";
  const OptionTable table{component.options, component.option_count};
  for (const loupe_option* option : table) {
    const bool whole = option != nullptr && LOUPE_REACHES(*option, choice_count) && option->name != nullptr &&
                       option->default_value != nullptr && option->help != nullptr &&
                       (option->choice_count == 0 || option->choices != nullptr);
    if (!whole) return "declares an option that is cut short, or has no name, default or help";
  }
  Diagnostics diagnostics("");
  try {
    OptionSet::from_yaml(table, YAML::Node(YAML::NodeType::Null), component.name, diagnostics);
  } catch (const YAML::Exception& e) {
    return std::string("declares a default that is no YAML: ") + e.msg;
  }
  return diagnostics.empty() ? "" : "declares a default that it refuses itself: " + diagnostics.messages();
}

}  // namespace

std::string own_plugin_folder() {
  std::string file = boost::dll::this_line_location().string();
  // Of a program's own code nothing more is known than how it was called, which PATH may have completed.
  if (file == program_invocation_name) file = boost::dll::program_location().string();
  std::error_code error;
  const fs::path real = fs::canonical(file, error);  // a link to the command stands elsewhere
  const fs::path here = (error ? fs::path(file) : real).parent_path();
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
    if (error) {
      problems_.push_back("the plugin path '" + path + "' cannot be read: " + error.message() + "; correct its rights");
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
  if (!own.empty()) return add_path(own);
  problems_.emplace_back(
      "the folder with Loupe's own plugins is not where it was built or installed; name it in LOUPE_PLUGIN_PATH");
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
  const std::string remedy = "; rebuild it against this Loupe's SDK";
  const bool whole = component != nullptr && LOUPE_OFFERS(*component, destroy) && component->interface_id != nullptr &&
                     component->name != nullptr && component->help != nullptr && component->table != nullptr &&
                     component->create != nullptr;
  if (!whole) {
    problems_.push_back("the plugin '" + library.file + "' " + versions(library) +
                        " offers a component that is cut short" + remedy);
    return;
  }
  const std::string where =
      "the component '" + std::string(component->name) + "' of '" + library.file + "' " + versions(library);
  const std::optional<Kind> known = kind_of(component->interface_id);
  if (!known) {
    problems_.push_back(where + " is a '" + component->interface_id + "', which this host does not know; update Loupe");
    return;
  }
  const Kind kind = *known;
  const std::string lacking = lacking_function(kind, component->table);
  if (!lacking.empty()) {
    problems_.push_back(where + " lacks '" + lacking + "', which every " + kind_name(kind) + " has" + remedy);
    return;
  }
  const std::string fault = option_fault(*component);
  if (!fault.empty()) {
    problems_.push_back(where + " " + fault + "; correct its declaration");
    return;
  }
  if (const CatalogueEntry* first = find(kind, component->name)) {
    problems_.push_back(where + " is left out: '" + first->library->file + "' (ABI " +
                        version_text(first->library->abi_major, first->library->abi_minor) + ") already has a " +
                        kind_name(kind) + " of that name; rename one, or take one file out of the plugin path");
    return;
  }
  entries_.push_back({kind, component, &library});
}

const CatalogueEntry* Catalogue::find(Kind kind, const std::string& name) const {
  for (const CatalogueEntry& entry : entries_) {
    if (entry.kind != kind) continue;
    const loupe_component& component = *entry.component;
    if (component.name == name) return &entry;
    const bool has_aliases = LOUPE_REACHES(component, alias_count) && component.aliases != nullptr;
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
