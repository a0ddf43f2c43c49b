#include "options/diagnostics.h"

#include <yaml-cpp/yaml.h>
#include <algorithm>
#include <tuple>

#include "loupe/config_error.h"

namespace loupe {
namespace {

// A file of another kind has thousands of faults, and names as long as itself.
constexpr std::size_t most_shown = 50, longest_message = 4000;

}  // namespace

void Diagnostics::error(const YAML::Mark& mark, const std::string& message) {
  // yaml-cpp counts from 0, and has no position for a missing node.
  const int line = mark.is_null() ? 1 : mark.line + 1;
  const int column = mark.is_null() ? 1 : mark.column + 1;
  const bool too_long = message.size() > longest_message;
  faults_.push_back({line, column, too_long ? message.substr(0, longest_message) + "…" : message});
}

void Diagnostics::error(const YAML::Node& node, const std::string& message) {
  error(node.Mark(), message);
}

std::vector<Diagnostics::Fault> Diagnostics::sorted() const {
  std::vector<Fault> faults = faults_;
  std::stable_sort(faults.begin(), faults.end(), [](const Fault& a, const Fault& b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
  });
  return faults;
}

std::string Diagnostics::text() const {
  std::string text;
  std::size_t shown = 0;
  for (const Fault& fault : sorted()) {
    if (shown++ == most_shown)
      return text + "\n" + file_ + ": error: and " + std::to_string(faults_.size() - most_shown) + " more faults";
    text += (text.empty() ? "" : "\n") + file_ + ":" + std::to_string(fault.line) + ":" + std::to_string(fault.column) +
            ": error: " + fault.message;
  }
  return text;
}

std::string Diagnostics::messages() const {
  std::string text;
  for (const Fault& fault : sorted()) text += (text.empty() ? "" : "; ") + fault.message;
  return text;
}

void Diagnostics::throw_if_any() const {
  if (!empty()) throw ConfigError(text());
}

std::string describe_node(const YAML::Node& node) {
  if (node.IsScalar()) return "'" + node.Scalar() + "'";
  return node.IsSequence() ? "a list" : node.IsMap() ? "a map" : "nothing";
}

}  // namespace loupe
