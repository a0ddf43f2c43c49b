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
  std::string detail;   ///< what is wrong, or worth knowing where it passed
  std::string same_as;  ///< the earlier rule that this component breaks by the same fault; empty for a fault of its own
};

/// Holds a plugin to every rule, in child processes: what crashes or takes longer than `seconds` for a rule is broken
/// there, and the next child goes on with the next rule. The plugin is not loaded here. Throws Error when no child or
/// folder can be made.
/// @param options  a YAML map, for components that declare any of them; may be empty
std::vector<Row> examine_plugin(const std::string& file, const std::string& options, double seconds);

}  // namespace loupe::check
