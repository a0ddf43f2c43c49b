#include "config/yaml_text.h"

#include <optional>
#include <sstream>

#include "config/merge_keys.h"
#include "config/yaml_bounds.h"

namespace loupe {
namespace {

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
    } else {
      diagnostics.error(e.mark, "this is no YAML: " + e.msg);
    }
    diagnostics.throw_if_any();
    throw;
  }
}

}  // namespace loupe
