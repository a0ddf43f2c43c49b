#include "config/yaml_text.h"

#include <yaml-cpp/yaml.h>
#include <algorithm>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "core/suggestion.h"

namespace loupe {
namespace {

bool is_merge_key(const YAML::Node& key) {
  return key.IsScalar() && key.Scalar() == "<<" && key.Tag() != "!";  // '!' is the tag of quoted text
}

void add_missing(YAML::Node& map, std::set<std::string>& present, const YAML::Node& merged, Diagnostics& diagnostics) {
  if (!merged.IsMap()) {
    diagnostics.error(merged, "the merge key '<<' must be given a map, or a list of maps, mostly as *name");
    return;
  }
  std::vector<std::pair<YAML::Node, YAML::Node>> missing;
  for (const auto& entry : merged) {
    if (entry.first.IsScalar() && present.insert(entry.first.Scalar()).second)
      missing.emplace_back(entry.first, entry.second);
  }
  for (const auto& [key, value] : missing) map.force_insert(key, value);
}

void resolve_in(YAML::Node map, Diagnostics& diagnostics) {
  std::vector<YAML::Node> merges;
  std::set<std::string> present;
  for (const auto& entry : map) {
    if (is_merge_key(entry.first)) {
      merges.push_back(entry.second);
    } else if (entry.first.IsScalar()) {
      present.insert(entry.first.Scalar());
    }
  }
  if (merges.empty()) return;
  for (std::size_t i = 0; i < merges.size(); ++i) map.remove("<<");
  for (const YAML::Node& merge : merges) {
    if (!merge.IsSequence()) {
      add_missing(map, present, merge, diagnostics);
      continue;
    }
    for (const YAML::Node& each : merge) add_missing(map, present, each, diagnostics);
  }
}

/// Puts into each map what its merge key (`<<: *name`, or a list of such) stands for; the map's own keys win, then the
/// first of the list. In place, as aliases share their nodes.
void resolve_merge_keys(YAML::Node root, Diagnostics& diagnostics) {
  if (root.IsSequence()) {
    for (const YAML::Node& each : root) resolve_merge_keys(each, diagnostics);
  } else if (root.IsMap()) {
    // What is merged has to be whole first.
    for (const auto& entry : root) resolve_merge_keys(entry.second, diagnostics);
    resolve_in(root, diagnostics);
  }
}

/// The first line, up to that of `fault`, that a tab indents.
std::optional<YAML::Mark> indenting_tab(const std::string& text, const YAML::Mark& fault) {
  std::istringstream stream(text);
  YAML::Mark mark;
  mark.pos = 0;
  mark.line = 0;
  for (std::string line; mark.line <= fault.line && std::getline(stream, line); ++mark.line) {
    const std::size_t indentation = line.find_first_not_of(" \t");
    const std::size_t tab = line.find('\t');
    if (indentation == std::string::npos || tab > indentation) continue;
    mark.column = static_cast<int>(tab);
    return mark;
  }
  return std::nullopt;
}

/// The pattern at the place where YAML looked for what an alias stands for; empty where there is none.
std::string unquoted_glob(const std::string& text, const YAML::Exception& fault) {
  std::istringstream stream(text);
  std::string line;
  for (int i = 0; i <= fault.mark.line && std::getline(stream, line); ++i) {
  }
  const bool is_of_alias = fault.msg == YAML::ErrorMsg::UNKNOWN_ANCHOR ||
                           fault.msg == YAML::ErrorMsg::ALIAS_NOT_FOUND || fault.msg == YAML::ErrorMsg::ALIAS_CONTENT;
  const auto column = static_cast<std::size_t>(std::max(fault.mark.column, 0));
  const std::size_t star = line.rfind('*', column);
  if (!is_of_alias || star == std::string::npos) return "";
  return line.substr(star, line.find_first_of(" ,]}#\t", star) - star);
}

}  // namespace

YAML::Node read_yaml(const std::string& text, Diagnostics& diagnostics) {
  try {
    check_yaml_bounds(text, diagnostics);
    const YAML::Node root = YAML::Load(text);
    resolve_merge_keys(root, diagnostics);
    return root;
  } catch (const YAML::Exception& e) {
    if (const auto tab = indenting_tab(text, e.mark)) {
      diagnostics.error(*tab, "a tab indents this line, and YAML takes only spaces there; replace it by spaces");
    } else if (const std::string glob = unquoted_glob(text, e); !glob.empty()) {
      diagnostics.error(e.mark,
                        "in YAML a * at the beginning stands for what is named elsewhere; put the pattern in "
                        "quotes: \"" +
                            glob + "\"");
    } else {
      diagnostics.error(e.mark, "this is no YAML: " + e.msg);
    }
    diagnostics.throw_if_any();
    throw;
  }
}

void check_keys(const YAML::Node& map, const std::vector<std::string>& known, const std::string& where,
                Diagnostics& diagnostics) {
  std::set<std::string> seen;
  for (const auto& entry : map) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      diagnostics.error(entry.first, "unknown key '" + key + "' " + where + suggestion(key, known));
    } else if (!seen.insert(key).second) {
      diagnostics.error(entry.first, "the key '" + key + "' stands twice " + where + "; keep one");
    }
  }
}

YAML::Node value_of(const YAML::Node& map, const char* key) {
  const YAML::Node found = map[key];
  return found.IsDefined() ? found : YAML::Node(YAML::NodeType::Null);
}

}  // namespace loupe
