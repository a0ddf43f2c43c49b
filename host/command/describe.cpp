#include "command/commands.h"

#include <algorithm>
#include <iomanip>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "command/option_words.h"
#include "config/sections.h"
#include "core/text.h"

namespace loupe {
namespace {

constexpr Kind kinds[] = {Kind::lens, Kind::visualizer, Kind::preprocessor, Kind::gatherer};

void write_options(const OptionTable& table, std::ostream& out) {
  std::size_t width = 0;
  for (const loupe_option* option : table) width = std::max(width, std::string(option->name).size());
  const loupe_option* named = nullptr;
  for (const loupe_option* option : table) {
    if (kind_named_by(*option)) named = option;
    out << "  " << std::left << std::setw(static_cast<int>(width)) << option->name << "  " << std::setw(7)
        << type_word(*option) << "  " << default_words(*option) << limit_words(*option, named) << "\n"
        << std::string(width + 4, ' ') << option->help << "\n";
    if (option->choice_count <= many_names) continue;
    const std::vector<std::string> names(option->choices, option->choices + option->choice_count);
    out << in_columns(names, output_columns().value_or(80), width + 6) << "\n";
  }
  if (table.count == 0) out << "  no options\n";
}

/// What the host does with every lens, unless the lens has an option of that name itself.
void write_host_options(const OptionTable& declared, std::ostream& out) {
  std::vector<const loupe_option*> options;
  for (const loupe_option* option : lens_options()) {
    const bool is_declared = std::any_of(declared.begin(), declared.end(), [&](const loupe_option* own) {
      return std::string(own->name) == option->name;
    });
    if (!is_declared) options.push_back(option);
  }
  if (options.empty()) return;
  out << "as every lens\n";
  write_options({options.data(), options.size()}, out);
}

/// What a component of this kind says that it gives.
const char* gives_word(Kind kind) {
  switch (kind) {
    case Kind::lens:
      return "tags, and what they show";
    case Kind::preprocessor:
      return "series";
    default:
      return "gives";
  }
}

void write_gives_and_example(Kind kind, const loupe_component& component, std::ostream& out) {
  if (component.gives != nullptr && component.give_count > 0) {
    out << gives_word(kind) << "\n";
    for (std::size_t i = 0; i < component.give_count; ++i) out << "  " << component.gives[i] << "\n";
  }
  if (component.example == nullptr) return;
  // A preprocessor or gatherer is named in a lens.
  out << "example\n  " << (kind == Kind::visualizer ? "visualizers" : "lenses") << ":\n    - ";
  for (const char* letter = component.example; *letter != '\0'; ++letter) {
    out << *letter;
    if (*letter == '\n' && letter[1] != '\0') out << "      ";
  }
  out << "\n";
}

void write_about(const char* title, const char* text, std::ostream& out) {
  if (text != nullptr && *text != '\0') out << "    " << title << ": " << text << "\n";
}

}  // namespace

void list_plugins(const Catalogue& catalogue, std::ostream& out) {
  std::map<std::string, const PluginLibrary*> libraries;
  for (const CatalogueEntry& entry : catalogue.entries()) libraries[entry.library->file] = entry.library;
  out << "plugins\n";
  for (const auto& [file, library] : libraries) {
    const loupe_plugin& plugin = *library->plugin;
    out << "  " << plugin.name << " " << plugin.version << "\n    " << file << "\n";
    write_about("description", plugin.description, out);
    write_about("author", plugin.author, out);
    write_about("license", plugin.license, out);
    write_about("homepage", plugin.homepage, out);
  }
}

void list_components(const Catalogue& catalogue, bool with_files, std::ostream& out) {
  std::size_t width = 0;
  for (const CatalogueEntry& entry : catalogue.entries())
    width = std::max(width, std::string(entry.component->name).size());
  for (const Kind kind : kinds) {
    out << kind_name(kind) << (kind == Kind::lens ? "es" : "s") << "\n";
    for (const std::string& name : catalogue.names(kind)) {
      const CatalogueEntry& entry = *catalogue.find(kind, name);
      out << "  " << std::left << std::setw(static_cast<int>(width)) << name << "  " << entry.component->help << "\n";
      if (!with_files) continue;
      out << std::string(width + 4, ' ') << entry.library->file << " (" << entry.library->plugin->name << " "
          << entry.library->plugin->version << ", ABI " << entry.library->abi_major << "." << entry.library->abi_minor
          << ")\n";
    }
  }
}

bool describe_component(const Catalogue& catalogue, const std::string& name, std::ostream& out, std::ostream& errors) {
  if (name == "config") {
    for (const auto& [section, table] : host_sections()) {
      out << section << "\n";
      write_options(table, out);
    }
    return true;
  }
  bool found = false;
  std::vector<std::string> known;
  for (const Kind kind : kinds) {
    const std::vector<std::string> names = catalogue.names(kind);
    known.insert(known.end(), names.begin(), names.end());
    const CatalogueEntry* entry = catalogue.find(kind, name);
    if (entry == nullptr) continue;
    found = true;
    out << kind_name(kind) << " " << entry->component->name << ": " << entry->component->help << "\n"
        << "from " << entry->library->file << "\n";
    write_options(entry->options(), out);
    if (kind == Kind::lens) write_host_options(entry->options(), out);
    write_gives_and_example(kind, *entry->component, out);
  }
  if (!found) errors << "loupe: error: there is no component '" << name << "'" << suggestion(name, known) << "\n";
  return found;
}

}  // namespace loupe
