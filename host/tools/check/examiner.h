#pragma once

#include <string>
#include <vector>

namespace loupe::check {

/// How one rule came out for one plugin file, or for one component of it.
struct Row {
  std::string file;
  std::string component;  ///< empty for the file's own rules
  std::string rule;
  bool passed = false;
  std::string detail;   ///< the fault, or a remark if the rule passed
  std::string same_as;  ///< the earlier rule that the same fault breaks; else empty
};

/// Holds a plugin to every rule, in child processes. A crash, or a rule that takes longer than `seconds`, breaks that
/// rule, and another child continues with the next. This process does not load the plugin. Throws Error if it cannot
/// make a child or a folder.
/// @param options  a YAML map, for components that declare any of them; may be empty
std::vector<Row> examine_plugin(const std::string& file, const std::string& options, double seconds);

}  // namespace loupe::check
