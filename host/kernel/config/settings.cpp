#include "config/settings.h"

#include <loupe/draft/abi/settings.h>
#include <yaml-cpp/yaml.h>

#include <cstddef>
#include <exception>
#include <map>
#include <utility>
#include <variant>

#include "config/yaml_text.h"
#include "loader/component_instance.h"

namespace loupe {
namespace {

constexpr std::size_t most_settings = 2000, longest_name = 1000;

using Value = std::variant<bool, std::string, Strings>;
using Found = std::map<std::string, Value>;

/// Whether a list with this name lists components, each with a name and maybe options.
bool lists_components(const std::string& name) {
  return name == "lenses" || name == "visualizers";
}

void flatten(const YAML::Node& node, const std::string& name, Found& found) {
  if (found.size() >= most_settings || name.size() > longest_name) return;
  const std::string before = name.empty() ? "" : name + ".";
  if (node.IsScalar()) {
    found[name] = node.Scalar();
  } else if (node.IsMap() && node.size() > 0) {
    for (const auto& each : node) {
      if (each.first.IsScalar()) flatten(each.second, before + each.first.Scalar(), found);
    }
  } else if (node.IsSequence()) {
    Strings texts;
    bool has_maps = false;
    for (const YAML::Node& each : node) {
      if (!each.IsScalar()) {
        has_maps = true;
        flatten(each, name, found);
      } else if (lists_components(name)) {
        flatten(YAML::Node(), before + each.Scalar(), found);
      } else {
        texts.push_back(each.Scalar());
      }
    }
    if (!texts.empty() || (!has_maps && !lists_components(name))) found[name] = std::move(texts);
  } else {
    found[name] = true;
  }
}

}  // namespace

OptionValues settings_of(const std::string& config) {
  Found found;
  try {
    Diagnostics none("");
    const YAML::Node root = read_yaml(config, none);
    if (root.IsMap() && root.size() > 0) flatten(root, "", found);
  } catch (const std::exception&) {
    // A record may hold no configuration, or one that this Loupe cannot read.
    found.clear();
  }
  OptionValues settings;
  for (auto& [name, value] : found) {
    std::visit([&, &key = name](auto& each) { settings.add({key.c_str(), std::move(each)}); }, value);
  }
  return settings;
}

void offer_settings() {
  static const loupe_draft_settings_service service = {
      .struct_size = sizeof(loupe_draft_settings_service),
      .read = [](void*, const char* text, loupe_draft_take_settings take, void* take_context, loupe_error* error) {
        return detail::guarded(error, [&] {
          if (text == nullptr || take == nullptr)
            throw Error("settings are requested with a null text or function", LOUPE_INVALID);
          settings_of(text).lend([&](const loupe_options* settings) {
            if (settings->value_count == 0) throw Error("this text is not a configuration", LOUPE_INVALID);
            take(take_context, settings);
          });
        });
      }};
  offer_interface(LOUPE_DRAFT_SETTINGS_ID, &service);
}

}  // namespace loupe
