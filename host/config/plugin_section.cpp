#include "config/sections.h"

#include <loupe/error.h>
#include <yaml-cpp/yaml.h>

#include <string>
#include <vector>

#include "config/path.h"
#include "config/yaml_text.h"

namespace loupe {
namespace {

std::vector<YAML::Node> written_paths(const YAML::Node& plugins) {
  const YAML::Node written = value_of(plugins, "path");
  if (!plugins["path"].IsDefined()) return {};
  if (!written.IsSequence()) return {written};
  return {written.begin(), written.end()};
}

void add_path(const YAML::Node& written, const std::string& folder, Catalogue& catalogue, Diagnostics& diagnostics) {
  if (!written.IsScalar() || written.Scalar().empty())
    return diagnostics.error(written, "plugins.path must be a folder or file, or a list of them");
  const std::string path = full_path(written.Scalar(), folder);
  // A path that the user wrote must work; what merely lies in a folder may fail on its own.
  const std::size_t before = catalogue.problems().size();
  catalogue.add_path(path);
  if (catalogue.opened_folder(path)) return;
  for (std::size_t i = before; i < catalogue.problems().size(); ++i)
    diagnostics.error(written, catalogue.problems()[i]);
}

}  // namespace

std::vector<std::string> plugin_paths(const YAML::Node& plugins) {
  std::vector<std::string> paths;
  if (!plugins.IsMap()) return paths;
  for (const YAML::Node& written : written_paths(plugins)) {
    if (written.IsScalar()) paths.push_back(written.Scalar());
  }
  return paths;
}

void read_plugins(const YAML::Node& plugins, const std::string& folder, Catalogue& catalogue,
                  Diagnostics& diagnostics) {
  catalogue.add_registered();
  if (!plugins.IsNull() && !plugins.IsMap()) {
    diagnostics.error(plugins, "'plugins' must be a map with a 'path'");
  } else if (plugins.IsMap()) {
    check_keys(plugins, {"path"}, "of 'plugins'", diagnostics);
    for (const YAML::Node& path : written_paths(plugins)) {
      try {
        add_path(path, folder, catalogue, diagnostics);
      } catch (const Error& e) {
        diagnostics.error(path, e.what());
      }
    }
  }
  catalogue.add_standard_paths();
}

}  // namespace loupe
