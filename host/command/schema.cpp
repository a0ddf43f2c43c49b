// The configuration as a JSON Schema, by which editors complete and check what is written.

#include <yaml-cpp/yaml.h>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "command/commands.h"
#include "config/sections.h"

namespace loupe {
namespace {

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
  entry["properties"]["as"] = {{"type", "string"}, {"description", "a name of its own for this entry"}};
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

/// What the sections declare for themselves, and what the reader of each takes besides.
Json properties(const Catalogue& catalogue) {
  Json all;
  all["loupe"] = {{"const", 1}, {"description", "the version of the configuration"}};
  for (const auto& [name, table] : host_sections()) all[name] = schema_of(table);
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
  const Json words = {{"enum", Json::array({"auto", "off", false})}};  // which off is in YAML 1.1
  const Json store = {{"pattern", "^(none|file://.+|tcp://.+:[0-9]+)$"}};
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
