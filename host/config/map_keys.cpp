#include "config/map_keys.h"

#include <algorithm>
#include <set>

#include "config/suggestion.h"

namespace loupe {

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

std::string shown(const YAML::Node& node) {
  if (node.IsScalar()) return "'" + node.Scalar() + "'";
  return node.IsSequence() ? "a list" : node.IsMap() ? "a map" : "nothing";
}

}  // namespace loupe
