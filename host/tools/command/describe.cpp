#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "command/commands.h"
#include "command/documents.h"
#include "command/records.h"
#include "command/usage_error.h"
#include "command/wrapped_output.h"
#include "config/sections.h"
#include "core/run_folder.h"
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

/// Writes the options that the host adds to every lens, unless the lens has an option of that name itself.
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

/// The heading for the `gives` of a component of this kind.
const char* gives_word(Kind kind) {
  switch (kind) {
    case Kind::lens:
      return "tags, and their contents";
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

void list_loaded(const std::string& run, std::ostream& out) try {
  const std::filesystem::path file = std::filesystem::path(record_file(run)).parent_path() / loaded_file_name;
  std::ifstream stream(file);
  if (!stream) {
    throw UsageError("'" + run + "' does not list its plugins: '" + file.string() +
                     "', which a run with run.dir writes at its first tick, is not there");
  }
  const auto all = nlohmann::json::parse(stream);
  const auto text = [](const nlohmann::json& of, const char* key) { return of.at(key).get<std::string>(); };
  std::ostringstream told;  // print all or nothing
  told << "loupe " << text(all, "loupe_version") << ", ABI " << text(all, "abi") << "\n";
  for (const nlohmann::json& plugin : all.at("plugins")) {
    told << text(plugin, "name") << " " << text(plugin, "version") << ", ABI " << text(plugin, "abi") << "\n  "
         << text(plugin, "file") << "\n";
    for (const nlohmann::json& each : plugin.at("components"))
      told << "  " << text(each, "kind") << " " << text(each, "name") << "\n";
    for (const nlohmann::json& draft : plugin.at("drafts"))
      told << "  draft " << draft.get<std::string>() << ", which may change or disappear\n";
  }
  out << told.str();
} catch (const nlohmann::json::exception&) {
  throw UsageError("'" + run + "' does not list its plugins: '" + std::string(loaded_file_name) +
                   "' beside its record is damaged");
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
    for (const auto& [section, table] : all_sections()) {
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

namespace {

// The configuration as a JSON Schema, by which editors complete and check configurations.
using Json = nlohmann::ordered_json;

Json choices_of(const loupe_option& option) {
  Json text = {{"type", "string"}};
  for (std::size_t i = 0; i < option.choice_count; ++i) text["enum"].push_back(option.choices[i]);
  return text;
}

Json schema_of(const loupe_option& option) {
  Json schema;
  switch (option.type) {
    case LOUPE_TYPE_BOOLEAN:
      schema["type"] = "boolean";
      break;
    case LOUPE_TYPE_INTEGER:
      schema["type"] = "integer";
      break;
    case LOUPE_TYPE_NUMBER:
      schema["type"] = "number";
      break;
    case LOUPE_TYPE_STRING:
      schema = choices_of(option);
      if (option.choice_count == 0)
        schema["type"] = Json::array({"string", "number", "boolean"});  // YAML's 5 is a text
      break;
    case LOUPE_TYPE_STRINGS:
      schema["anyOf"] = Json::array({choices_of(option), {{"type", "array"}, {"items", choices_of(option)}}});
      break;
    default:
      schema["type"] = "object";
  }
  if (option.type == LOUPE_TYPE_INTEGER || option.type == LOUPE_TYPE_NUMBER) {
    if (has_minimum(option)) schema["minimum"] = option.minimum;
    if (has_maximum(option)) schema["maximum"] = option.maximum;
  }
  schema["description"] = option.help;
  if (option.default_value == nullptr) return schema;
  const YAML::Node value = OptionSet::default_of(option);
  if (option.type == LOUPE_TYPE_BOOLEAN) schema["default"] = value.as<bool>();
  if (option.type == LOUPE_TYPE_INTEGER) schema["default"] = value.as<int64_t>();
  if (option.type == LOUPE_TYPE_NUMBER && std::isfinite(option.default_value->number))
    schema["default"] = option.default_value->number;
  if (option.type == LOUPE_TYPE_STRING) schema["default"] = value.as<std::string>();
  if (option.type == LOUPE_TYPE_STRINGS) schema["default"] = value.as<std::vector<std::string>>();
  return schema;
}

Json schema_of(const OptionTable& table) {
  Json schema = {{"type", "object"}, {"additionalProperties", false}, {"properties", Json::object()}};
  for (const loupe_option* option : table) {
    schema["properties"][option->name] = schema_of(*option);
    if ((option->flags & LOUPE_OPTION_REQUIRED) != 0) schema["required"].push_back(option->name);
  }
  return schema;
}

Json list_of(Kind kind, const Catalogue& catalogue) {
  Json names = {{"enum", Json::array()}};
  Json entry = {{"type", "object"}, {"additionalProperties", false}, {"minProperties", 1}, {"maxProperties", 2}};
  entry["properties"]["as"] = {{"type", "string"}, {"description", "a separate name for this entry"}};
  for (const std::string& name : catalogue.names(kind)) {
    const CatalogueEntry& found = *catalogue.find(kind, name);
    std::vector<std::string> called = {name};
    for (std::size_t i = 0; i < found.component->alias_count; ++i) called.emplace_back(found.component->aliases[i]);
    Json options = schema_of(found.options());
    if (kind == Kind::lens) {
      for (const loupe_option* option : lens_options()) {
        if (!options["properties"].contains(option->name)) options["properties"][option->name] = schema_of(*option);
      }
    }
    options["type"] = Json::array({"object", "null"});
    options["description"] = found.component->help;
    for (const std::string& each : called) {
      names["enum"].push_back(each);
      entry["properties"][each] = options;
    }
  }
  return {{"type", Json::array({"array", "null"})}, {"items", {{"anyOf", Json::array({names, entry})}}}};
}

/// Options declared by a section, plus those its reader accepts.
Json properties(const Catalogue& catalogue) {
  Json all;
  all["loupe"] = {{"const", 1}, {"description", "the version of the configuration"}};
  for (const auto& [name, table] : all_sections()) all[name] = schema_of(table);
  Json& tick = all["run"]["properties"]["tick"];
  tick = {{"description", "when a tick comes: epoch, {steps: 500}, {steps: 500, of: NAME} or {seconds: 30}"}};
  const Json counted = {{"type", "object"},
                        {"additionalProperties", false},
                        {"properties",
                         {{"steps", {{"type", "integer"}, {"minimum", 1}}},
                          {"of", {{"type", "string"}}},
                          {"seconds", {{"type", "number"}, {"exclusiveMinimum", 0}}}}}};
  tick["anyOf"] = Json::array({{{"const", "epoch"}}, counted});
  const Json text = {{"type", "string"}};
  all["plugins"] = {{"type", "object"}, {"additionalProperties", false}};
  all["plugins"]["properties"]["path"]["anyOf"] = Json::array({text, {{"type", "array"}, {"items", text}}});
  all["lenses"] = list_of(Kind::lens, catalogue);
  all["visualizers"] = list_of(Kind::visualizer, catalogue);
  all["on_error"]["enum"] = {"quarantine", "stop"};
  const Json words = {{"enum", Json::array({"auto", "off", false})}};  // YAML 1.1 reads off as false
  const Json store = {{"pattern", "^(none|file://.+)$"}};
  const Json timeout = {{"type", "number"}, {"minimum", 0.1}, {"maximum", 3600}};
  const Json show = {{"enum", Json::array({"merged", "each"})}};
  all["ranks"]["anyOf"] = Json::array({words,
                                       {{"type", "object"},
                                        {"additionalProperties", false},
                                        {"properties", {{"store", store}, {"timeout", timeout}, {"show", show}}}}});
  return all;
}

}  // namespace

void write_schema(const Catalogue& catalogue, std::ostream& out) {
  const Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                       {"title", "A configuration of Loupe"},
                       {"type", "object"},
                       {"additionalProperties", false},
                       {"properties", properties(catalogue)}};
  out << schema.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
}

}  // namespace loupe
