#ifndef LOUPE_HTML_CONFIG_SETTINGS_H
#define LOUPE_HTML_CONFIG_SETTINGS_H

#include <map>
#include <string>

namespace loupe::html {

/// The settings of a YAML config by dotted names, as texts, so that two configs can be compared whatever their layout:
/// "run.tick.steps"; a component of a list goes by its own name, "lenses.output_norm.line", and is "yes" where it has
/// no options. Without the run's name and directory, which every run has its own of. Empty for a text that is no YAML
/// map.
std::map<std::string, std::string> settings_of(const std::string& config);

}  // namespace loupe::html

#endif
