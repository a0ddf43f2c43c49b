#include "config/sections.h"

#include <loupe/error.h>
#include <yaml-cpp/yaml.h>

#include <map>
#include <string>
#include <vector>

#include "config/path.h"
#include "config/yaml_text.h"
#include "loader/plugin_file.h"

namespace loupe {
namespace {

std::vector<YAML::Node> written_paths(const YAML::Node& plugins) {
  const YAML::Node written = value_of(plugins, "path");
  if (!plugins["path"].IsDefined()) return {};
  if (!written.IsSequence()) return {written};
  return {written.begin(), written.end()};
}

/// What plugins may be opened from plugins.path, each with its digest; empty where that is left open.
std::map<std::string, std::string> read_pins(const YAML::Node& plugins, Diagnostics& diagnostics) {
  std::map<std::string, std::string> pins;
  const YAML::Node written = value_of(plugins, "sha256");
  if (written.IsNull()) return pins;
  if (!written.IsMap()) {
    diagnostics.error(written, "plugins.sha256 must be a map of file names and their digests");
    return pins;
  }
  for (const auto& entry : written) {
    const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "";
    const std::string digest = entry.second.IsScalar() ? entry.second.Scalar() : "";
    if (name.empty() || name.find('/') != std::string::npos) {
      diagnostics.error(entry.first, "plugins.sha256 takes a file's name without its folder, such as dead_units.so");
    } else if (!is_sha256(digest)) {
      diagnostics.error(entry.second,
                        "the digest of '" + name + "' must be 64 hexadecimal digits, as sha256sum prints");
    } else if (!pins.emplace(name, digest).second) {
      diagnostics.error(entry.first, "'" + name + "' stands twice in plugins.sha256; keep one");
    }
  }
  return pins;
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
    check_keys(plugins, {"path", "sha256"}, "of 'plugins'", diagnostics);
    catalogue.pin(read_pins(plugins, diagnostics));
    for (const YAML::Node& path : written_paths(plugins)) {
      try {
        add_path(path, folder, catalogue, diagnostics);
      } catch (const Error& e) {
        diagnostics.error(path, e.what());
      }
    }
    for (const std::string& name : catalogue.missing_pins())
      diagnostics.error(plugins["sha256"], "there is no '" + name + "' in plugins.path; correct the name, or the path");
    catalogue.pin({});
  }
  catalogue.add_standard_paths();
}

}  // namespace loupe
