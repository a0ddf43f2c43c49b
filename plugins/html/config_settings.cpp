#include "html/config_settings.h"

#include <yaml-cpp/yaml.h>

#include <cstddef>
#include <map>

namespace loupe::html {

namespace {

// Of aliases, a short text can make endless settings.
constexpr std::size_t MOST_SETTINGS = 2000;
constexpr int DEEPEST = 20;

bool is_left_out(const std::string& name) {
  return name == "loupe" || name == "run.name" || name == "run.dir";
}

/// Lists of these are of components, each with a name and maybe options.
bool lists_components(const std::string& name) {
  return name == "lenses" || name == "visualizers";
}

void flatten(const YAML::Node& node, const std::string& name, int depth, std::map<std::string, std::string>& settings) {
  if (is_left_out(name) || depth > DEEPEST || settings.size() >= MOST_SETTINGS) return;
  if (node.IsScalar()) {
    settings[name] = node.Scalar();
  } else if (node.IsNull() || node.size() == 0) {
    settings[name] = "yes";
  } else if (node.IsMap()) {
    for (const auto& item : node) {
      if (!item.first.IsScalar()) continue;
      flatten(item.second, name.empty() ? item.first.Scalar() : name + "." + item.first.Scalar(), depth + 1, settings);
    }
  } else {
    std::string scalars;
    for (const YAML::Node& item : node) {
      if (!item.IsScalar()) {
        flatten(item, name, depth + 1, settings);
      } else if (lists_components(name)) {
        settings[name + "." + item.Scalar()] = "yes";
      } else {
        scalars += (scalars.empty() ? "" : ", ") + item.Scalar();
      }
    }
    if (!scalars.empty()) settings[name] = scalars;
  }
}

}  // namespace

Settings settings_of(const std::string& config) try {
  std::map<std::string, std::string> settings;
  const YAML::Node root = YAML::Load(config);
  if (root.IsMap()) flatten(root, "", 0, settings);
  return {settings.begin(), settings.end()};
} catch (const YAML::Exception&) {
  return {};  // the host has refused a bad config long before; one in another form is shown as its text alone
}

}  // namespace loupe::html
