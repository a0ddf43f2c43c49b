#include "config/sections.h"

#include <loupe/draft/abi/option_names.h>
#include <loupe/error.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>

#include "config/yaml_text.h"
#include "loader/component_instance.h"

namespace loupe {
namespace {

/// One component in the YAML: `name`, or `name: {options}`, either with `as: own_name` beside it.
struct WrittenComponent {
  YAML::Node at, options;
  std::string name, own_name;
};

bool read_item(const YAML::Node& item, const std::string& section, WrittenComponent& written,
               Diagnostics& diagnostics) {
  if (item.IsScalar()) {
    written = {item, YAML::Node(YAML::NodeType::Null), item.Scalar(), ""};
    return true;
  }
  if (!item.IsMap()) {
    diagnostics.error(item, "an entry of '" + section + "' must be a name, or a name with a map of options");
    return false;
  }
  for (const auto& entry : item) {
    const std::string key = entry.first.Scalar();
    if (key == "as") {
      const bool is_name = entry.second.IsScalar() && !entry.second.Scalar().empty();
      if (!is_name || !written.own_name.empty()) {
        diagnostics.error(entry.first, "'as' needs one name, for this entry of '" + section + "'");
        return false;
      }
      written.own_name = entry.second.Scalar();
    } else if (written.name.empty()) {
      written.name = key;
      written.at = entry.first;
      written.options = entry.second;
    } else {
      diagnostics.error(entry.first, "'" + key + "' is in the same entry as '" + written.name +
                                         "'; begin a new one with '- ', or indent it as an option");
      return false;
    }
  }
  if (written.name.empty()) diagnostics.error(item, "an entry of '" + section + "' names no component");
  return !written.name.empty();
}

/// Why a gatherer cannot be opened on a module, tested by opening one on a module that has every requested parameter;
/// empty if it can. @param label the parameter or attribute; null for none
std::string refusal_of(const CatalogueEntry& gatherer, const OptionSet& options, const char* label) {
  const loupe_taps taps{
      .struct_size = sizeof taps,
      .subscribe = [](void*, const loupe_subscription*, loupe_error*) -> loupe_status { return LOUPE_OK; },
      .emit = [](void*, const loupe_event*, loupe_error*) -> loupe_status { return LOUPE_OK; }};
  const loupe_module module{
      .struct_size = sizeof module, .name = "", .path = "", .type = "Module", .full_type = "Module"};
  try {
    const std::string speaker = std::string("the gatherer '") + gatherer.component->name + "'";
    const ComponentInstance instance(gatherer, options.get(), speaker, nullptr);
    detail::ErrorBuffer error;
    const loupe_status status =
        instance.table<loupe_gatherer>().open(instance.self(), &taps, &module, label, error.get());
    return status == LOUPE_OK ? "" : error.text();
  } catch (const std::exception& reason) {
    return reason.what();
  }
}

/// Checks that a lens with an option `parameters` gives the gatherer that it names the parameters it needs, and no
/// others.
void check_gatherer(const CatalogueEntry& gatherer, const YAML::Node& options, const CatalogueEntry& lens,
                    const YAML::Node& written, const YAML::Mark& place, Diagnostics& diagnostics) {
  Diagnostics of_options(diagnostics.file());
  const auto set = OptionSet::from_yaml(gatherer.options(), options, gatherer.component->name, of_options);
  const loupe_option* parameters = lens.options().find("parameters");
  if (parameters == nullptr || parameters->type != LOUPE_TYPE_STRINGS || !of_options.empty()) return;
  const YAML::Node given = value_of(written, "parameters");
  const YAML::Node first = given.IsSequence() && given.size() > 0 ? given[0] : given;
  const std::string label = first.IsScalar() ? first.Scalar() : "";
  const std::string refusal = refusal_of(gatherer, *set, label.empty() ? nullptr : label.c_str());
  if (refusal.empty()) return;
  const bool is_given = given.IsDefined() && !given.IsNull();
  diagnostics.error(is_given ? given.Mark() : place, refusal + " (option 'parameters')");
}

/// Checks options that name another component, and maps with options for it. Call it once the catalogue is complete.
void check_named_components(const CatalogueEntry& entry, const YAML::Node& written, const YAML::Mark& place,
                            const Catalogue& catalogue, Diagnostics& diagnostics) {
  const auto value = [&](const loupe_option& option) {
    const YAML::Node given = value_of(written, option.name);
    return given.IsNull() ? OptionSet::default_of(option) : given;
  };
  std::map<std::string, const CatalogueEntry*> named;
  for (const loupe_option* option : entry.options()) {
    const auto kind = kind_named_by(*option);
    if (!kind) continue;
    const YAML::Node name = value(*option);
    if (!name.IsScalar() || name.Scalar().empty()) continue;
    named[option->name] = catalogue.find(*kind, name.Scalar());
    if (named[option->name] != nullptr) continue;
    diagnostics.error(name, std::string("there is no ") + kind_name(*kind) + " '" + name.Scalar() + "'" +
                                catalogue.hint(*kind, name.Scalar()));
  }
  std::map<std::string, YAML::Node> options_for;
  auto of = named.end();
  for (const loupe_option* option : entry.options()) {
    if (kind_named_by(*option)) of = named.find(option->name);
    const bool has_options = (option->flags & LOUPE_DRAFT_OPTION_OPTIONS) != 0;
    if (!has_options || of == named.end() || of->second == nullptr) continue;
    const YAML::Node options = value(*option);
    if (!options.IsMap()) continue;
    options_for[of->first] = options;
    OptionSet::from_yaml(of->second->options(), options, "'" + std::string(of->second->component->name) + "'",
                         diagnostics, &place);
  }
  for (const auto& [option, gatherer] : named) {
    if (gatherer != nullptr && gatherer->kind == Kind::gatherer)
      check_gatherer(*gatherer, options_for[option], entry, written, place, diagnostics);
  }
}

/// The options that the component declares, and those that the host adds to every one of its kind.
std::vector<const loupe_option*> options_of(const CatalogueEntry& entry, Kind kind) {
  std::vector<const loupe_option*> options(entry.options().begin(), entry.options().end());
  if (kind != Kind::lens) return options;
  for (const loupe_option* own : lens_options()) {
    if (entry.options().find(own->name) == nullptr) options.push_back(own);
  }
  return options;
}

/// Whether the entry's own name is among its options.
bool has_misplaced_as(const CatalogueEntry& entry, const YAML::Node& options) {
  return options.IsMap() && options["as"].IsDefined() && entry.options().find("as") == nullptr;
}
std::string described(const YAML::Node& name) {
  return name.IsScalar() ? name.Scalar() : "name";
}

}  // namespace

std::vector<ComponentConfig> read_components(const YAML::Node& list, Kind kind, const std::string& section,
                                             const Catalogue& catalogue, Diagnostics& diagnostics) {
  std::vector<ComponentConfig> components;
  if (list.IsNull()) return components;
  if (!list.IsSequence()) {
    diagnostics.error(list, "'" + section + "' must be a list");
    return components;
  }
  for (const YAML::Node& item : list) {
    WrittenComponent written;
    if (!read_item(item, section, written, diagnostics)) continue;
    const CatalogueEntry* entry = catalogue.find(kind, written.name);
    if (entry == nullptr) {
      diagnostics.error(written.at, std::string("unknown ") + kind_name(kind) + " '" + written.name + "'" +
                                        catalogue.hint(kind, written.name));
      continue;
    }
    const bool renamed = !written.own_name.empty();
    const std::string name = renamed ? written.own_name : entry->component->name;
    const bool taken =
        std::any_of(components.begin(), components.end(), [&](const auto& each) { return each.name == name; });
    if (taken) {
      diagnostics.error(written.at, std::string("the ") + kind_name(kind) + " '" + name +
                                        "' is used twice; give each its own name with 'as: name' beside it");
    }
    if (has_misplaced_as(*entry, written.options)) {
      diagnostics.error(written.options["as"], "'as' is among the options of '" + written.name +
                                                   "'; write it beside the name: {" + written.name +
                                                   ": {…}, as: " + described(written.options["as"]) + "}");
      continue;
    }
    const std::vector<const loupe_option*> known = options_of(*entry, kind);
    const YAML::Mark mark = written.at.Mark();
    auto options = OptionSet::from_yaml({known.data(), known.size()}, written.options,
                                        std::string(kind_name(kind)) + " '" + written.name + "'", diagnostics, &mark);
    int64_t active = 1;
    if (known.size() != entry->options().count) active = options->take_integer("active").value_or(1);
    const bool doubled =
        kind == Kind::visualizer && std::any_of(components.begin(), components.end(), [&](const auto& each) {
          return each.entry.component == entry->component && each.options->key() == options->key();
        });
    if (doubled) {
      diagnostics.error(written.at, "this visualizer does the same as another '" + written.name +
                                        "', to the same file; give it other options, such as a path");
      continue;
    }
    components.push_back({*entry, name, renamed, std::move(options), mark.line + 1, mark.column + 1, diagnostics.file(),
                          static_cast<int>(active)});
    check_named_components(*entry, written.options, mark, catalogue, diagnostics);
  }
  return components;
}

}  // namespace loupe
