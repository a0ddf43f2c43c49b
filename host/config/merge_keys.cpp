#include "config/merge_keys.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace loupe {
namespace {

bool is_merge_key(const YAML::Node& key) {
  return key.IsScalar() && key.Scalar() == "<<" && key.Tag() != "!";  // '!' is the tag of what stands in quotes
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

}  // namespace

void resolve_merge_keys(YAML::Node root, Diagnostics& diagnostics) {
  if (root.IsSequence()) {
    for (const YAML::Node& each : root) resolve_merge_keys(each, diagnostics);
  } else if (root.IsMap()) {
    // What is merged has to be whole first.
    for (const auto& entry : root) resolve_merge_keys(entry.second, diagnostics);
    resolve_in(root, diagnostics);
  }
}

}  // namespace loupe
