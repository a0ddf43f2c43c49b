#include "loader/catalogue.h"

#include <loupe/error.h>

#include <errno.h>

#include <algorithm>
#include <boost/dll/runtime_symbol_info.hpp>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include "core/log.h"
#include "core/text.h"
#include "options/diagnostics.h"

namespace loupe {
namespace {

namespace fs = std::filesystem;

std::string versions(const PluginLibrary& library) {
  return "(ABI " + version_text(library.abi_major, library.abi_minor) + ", this host " +
         version_text(LOUPE_ABI_MAJOR, LOUPE_ABI_MINOR) + ")";
}

std::string left_out(Kind kind, const std::string& name, const std::string& file, const std::string& first) {
  return "the " + std::string(kind_name(kind)) + " '" + name + "' of '" + file + "' is ignored: '" + first +
         "' defines the same name and comes first; rename one, or remove one file from the plugin path";
}

bool has_name(const loupe_component& component, const std::string& name, bool as_alias) {
  if (!as_alias) return component.name == name;
  const std::size_t count = component.aliases != nullptr ? component.alias_count : 0;
  return std::find(component.aliases, component.aliases + count, name) != component.aliases + count;
}

/// The difference between a plugin's note and its components; empty if there is none.
std::string note_fault(const ComponentIndex& index, const loupe_plugin& plugin) {
  const std::string in_note = "the note in its file ";
  std::set<std::pair<Kind, std::string>> offered;
  for (std::size_t i = 0; i < plugin.component_count; ++i) {
    const loupe_component* component = plugin.components[i];
    if (component == nullptr || !LOUPE_OFFERS(*component, name) || component->interface_id == nullptr) return "";
    const std::optional<Kind> kind = kind_of(component->interface_id);
    if (!kind) continue;
    offered.emplace(*kind, component->name);
    if (!index.names(*kind, component->name))
      return in_note + "lacks the " + kind_name(*kind) + " '" + component->name + "'";
  }
  for (const NamedComponent& named : index.components) {
    if (offered.count({named.kind, named.name}) == 0)
      return in_note + "has a " + kind_name(named.kind) + " '" + named.name + "', which it does not offer";
  }
  return "";
}

/// The fault of a component's description, in words that follow its name; empty if none.
std::string option_fault(const loupe_component& component) {
  if (component.option_count > 0 && component.options == nullptr) return "counts options that it does not have";
  const OptionTable table{component.options, component.option_count};
  for (const loupe_option* option : table) {
    const bool whole = option != nullptr && LOUPE_REACHES(*option, choice_count) && option->name != nullptr &&
                       option->help != nullptr && (option->choice_count == 0 || option->choices != nullptr);
    if (!whole) return "declares an option that is cut short, or has no name or help";
  }
  Diagnostics diagnostics("");
  OptionSet::check_defaults(table, component.name, diagnostics);
  return diagnostics.empty() ? "" : "declares an invalid default: " + diagnostics.messages();
}

}  // namespace

std::string own_plugin_folder() {
  std::string file = boost::dll::this_line_location().string();
  // For code of the program, `file` is only the name by which it was called, without the folder in PATH.
  if (file == program_invocation_name) file = boost::dll::program_location().string();
  std::error_code error;
  const fs::path real = fs::canonical(file, error);  // the command may be a link to another folder
  const fs::path here = (error ? fs::path(file) : real).parent_path();
  const bool is_tool = here.filename() == "loupe" && here.parent_path().filename() == "libexec";
  const fs::path bin = is_tool ? here / "../../bin" : here;
  const std::initializer_list<fs::path> candidates = {here / "loupe/plugins", bin / "../lib/loupe/plugins",
                                                      bin / LOUPE_INSTALL_PLUGINS};
  for (const fs::path& candidate : candidates) {
    if (fs::is_directory(candidate)) return fs::canonical(candidate).string();
  }
  return "";
}

void Catalogue::add_registered() {
  for (const PluginLibrary* library : registered_plugins()) add_components(*library, {});
}

bool Catalogue::add_path(const std::string& written) {
  std::error_code error;
  const std::string path = fs::absolute(written).lexically_normal().string();
  searched_.push_back(path);
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    problems_.push_back("the plugin path '" + path + "' does not exist; correct it, or build the plugin");
  } else if (!fs::is_directory(status)) {
    add_file(path, true);
  } else if (const std::string fault = trust_fault(path); !fault.empty()) {
    problems_.push_back(fault);
  } else {
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(path, error)) {
      if (entry.path().extension() == ".so") files.push_back(entry.path().string());
    }
    if (error)
      problems_.push_back("the plugin path '" + path + "' cannot be read: " + error.message() + "; correct its rights");
    if (!error && files.empty()) empty_folders_.push_back(path);
    std::sort(files.begin(), files.end());
    for (const std::string& file : files) add_file(file, false);
    return !error;
  }
  return false;
}

void Catalogue::add_standard_paths() {
  // The caller of a program with another user's rights must not choose its code.
  if (const char* variable = ::secure_getenv("LOUPE_PLUGIN_PATH")) {
    std::istringstream list(variable);
    for (std::string path; std::getline(list, path, ':');) {
      if (!path.empty()) add_path(path);
    }
  }
  const std::string own = own_plugin_folder();
  if (!own.empty()) return void(add_path(own));
  problems_.emplace_back(
      "the folder with Loupe's own plugins is not where it was built or installed; name it in LOUPE_PLUGIN_PATH");
}

void Catalogue::add_file(const std::string& file, bool open_now) {
  std::error_code error;
  const fs::path canonical = fs::canonical(file, error);
  const std::string path = error ? file : canonical.string();
  const bool known = std::any_of(files_.begin(), files_.end(), [&](const File& each) { return each.path == path; });
  if (known) return;
  File& added = files_.emplace_back(File{path});
  try {
    // A link may lead to a file in a folder that others may change.
    const std::string fault = trust_fault(fs::path(path).parent_path().string());
    if (!fault.empty()) throw Error(fault);
    const PluginFile bytes(path);
    added.index = read_index(ElfFile(bytes));
    added.place = {!added.index.noted && !open_now, files_.size()};
  } catch (const std::exception& e) {
    added.opened = true;
    added.problem = e.what();
    problems_.push_back(added.problem);
    return;
  }
  if (open_now) {
    open(added);
  } else {
    tell_doubles(added);
  }
}

void Catalogue::open(File& file) const {
  file.opened = true;
  try {
    const PluginLibrary& library = load_plugin(file.path);
    const std::string fault = file.index.noted ? note_fault(file.index, *library.plugin) : "";
    if (!fault.empty())
      throw Error("the plugin '" + file.path + "' does not match its note: " + fault + "; build it again");
    add_components(library, file.place);
  } catch (const std::exception& e) {
    file.problem = e.what();
    problems_.push_back(file.problem);
  }
}

void Catalogue::open_all() {
  for (File& file : files_) {
    if (!file.opened) open(file);
  }
}

/// Reports names in two notes, without loading either file.
void Catalogue::tell_doubles(const File& file) {
  for (const NamedComponent& component : file.index.components) {
    const CatalogueEntry* open = first_open(component.kind, component.name, false, false);
    std::string first = open != nullptr ? open->library->file : "";
    for (const File& other : files_) {
      if (first.empty() && &other != &file && other.index.names(component.kind, component.name)) first = other.path;
    }
    if (!first.empty()) problems_.push_back(left_out(component.kind, component.name, file.path, first));
  }
}

void Catalogue::add_components(const PluginLibrary& library, PluginPlace place) const {
  for (std::size_t i = 0; i < library.plugin->component_count; ++i)
    add_component(library.plugin->components[i], library, place);
}

void Catalogue::add_component(const loupe_component* component, const PluginLibrary& library, PluginPlace place) const {
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
    log(LOUPE_LOG_WARNING, where + " is a '" + component->interface_id +
                               "', which needs a newer Loupe, and is left out; update Loupe to use it");
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
  for (const loupe_option* option : OptionTable{component->options, component->option_count}) {
    if (is_known_type(option->type)) continue;
    log(LOUPE_LOG_WARNING, where + " has the option '" + option->name +
                               "', whose type needs a newer Loupe, so it stays unset; update Loupe to set it");
  }
  add_entry({kind, component, &library, place});
}

void Catalogue::add_entry(const CatalogueEntry& entry) const {
  const std::string name = entry.component->name;
  const auto other = std::find_if(entries_.begin(), entries_.end(), [&](const CatalogueEntry& each) {
    return each.kind == entry.kind && each.component->name == name;
  });
  if (other == entries_.end()) return entries_.push_back(entry);
  // A later plugin may have been loaded earlier, for another of its components.
  const bool goes_before = entry.place < other->place;
  const CatalogueEntry last = goes_before ? *other : entry;
  if (goes_before) *other = entry;
  const std::string message = left_out(entry.kind, name, last.library->file, other->library->file);
  if (std::find(problems_.begin(), problems_.end(), message) == problems_.end()) problems_.push_back(message);
}

const CatalogueEntry* Catalogue::first_open(Kind kind, const std::string& name, bool as_alias, bool is_silent) const {
  const CatalogueEntry* first = nullptr;
  for (const CatalogueEntry& entry : entries_) {
    if (entry.kind != kind || entry.place.first != is_silent || (first != nullptr && !(entry.place < first->place)))
      continue;
    if (has_name(*entry.component, name, as_alias)) first = &entry;
  }
  return first;
}

const CatalogueEntry* Catalogue::first(Kind kind, const std::string& name, bool as_alias, bool is_silent) const {
  for (File& file : files_) {
    if (file.opened || file.place.first != is_silent) continue;
    const bool may_have = is_silent || (as_alias ? file.index.has_aliases(kind) : file.index.names(kind, name));
    if (!may_have) continue;
    const CatalogueEntry* open_already = first_open(kind, name, as_alias, is_silent);
    if (open_already != nullptr && open_already->place < file.place) break;
    open(file);
  }
  return first_open(kind, name, as_alias, is_silent);
}

const CatalogueEntry* Catalogue::find(Kind kind, const std::string& name) const {
  for (const bool is_silent : {false, true})
    for (const bool as_alias : {false, true})
      if (const CatalogueEntry* entry = first(kind, name, as_alias, is_silent)) return entry;
  return nullptr;
}

std::vector<std::string> Catalogue::names(Kind kind) const {
  std::set<std::string> names;
  for (const CatalogueEntry& entry : entries_)
    if (entry.kind == kind) names.emplace(entry.component->name);
  for (const File& file : files_)
    for (const NamedComponent& component : file.index.components)
      if (!file.opened && component.kind == kind) names.insert(component.name);
  return {names.begin(), names.end()};
}

/// A hint if a component of that name has another kind.
std::string Catalogue::other_kind_hint(Kind kind, const std::string& name) const {
  const std::pair<Kind, const char*> places[] = {
      {Kind::lens, "a lens; write it under lenses"},
      {Kind::visualizer, "a visualizer; write it under visualizers"},
      {Kind::preprocessor, "a preprocessor, which lenses use"},
      {Kind::gatherer, "a gatherer, which lenses use"},
  };
  for (const auto& [other, words] : places) {
    const bool is_other = std::any_of(entries_.begin(), entries_.end(),
                                      [&, of = other](const CatalogueEntry& entry) {
                                        return entry.kind == of && (has_name(*entry.component, name, false) ||
                                                                    has_name(*entry.component, name, true));
                                      }) ||
                          std::any_of(files_.begin(), files_.end(),
                                      [&, of = other](const File& file) { return file.index.names(of, name); });
    if (other != kind && is_other) return std::string("; it is ") + words;
  }
  return "";
}

std::string Catalogue::hint(Kind kind, const std::string& name) const {
  if (kind == Kind::visualizer && name == "mlflow")
    return "; runs are sent to MLflow by `python -m loupe RUN --to mlflow --follow`";
  for (const File& file : files_) {
    if (!file.problem.empty() && file.index.names(kind, name)) return "; " + file.problem;
  }
  if (std::string other = other_kind_hint(kind, name); !other.empty()) return other;
  if (const std::vector<std::string> known = names(kind); !known.empty()) {
    std::string empty;
    for (const std::string& folder : empty_folders_) empty += "; no plugin is in '" + folder + "'";
    std::vector<std::string> all = known;
    for (const CatalogueEntry& entry : entries_) {
      const loupe_component& each = *entry.component;
      const std::size_t count = entry.kind == kind && each.aliases != nullptr ? each.alias_count : 0;
      all.insert(all.end(), each.aliases, each.aliases + count);
    }
    if (const std::string near = suggestion(name, all); near.find("did you mean") != near.npos) return empty + near;
    // The command never knows linked components, and a program knows them only after register_plugin.
    return empty + suggestion(name, known) +
           "; components that are linked into your program are known only there, after register_plugin";
  }
  std::string places;
  for (const std::string& path : searched_) places += (places.empty() ? "'" : ", '") + path + "'";
  return std::string("; no plugin with a ") + kind_name(kind) + " is in " + (places.empty() ? "any place" : places) +
         "; name the right folder in plugins.path or LOUPE_PLUGIN_PATH, or install it";
}

}  // namespace loupe
