#ifndef LOUPE_HTML_CONFIG_SETTINGS_H
#define LOUPE_HTML_CONFIG_SETTINGS_H

#include <string>
#include <utility>
#include <vector>

namespace loupe::html {

/// The settings of a YAML config by dotted names, as texts, in the order of their names, so that two configs can be
/// compared whatever their layout: "run.tick.steps"; a component of a list goes by its own name,
/// "lenses.output_norm.line", and is "yes" where it has no options. Without the run's name and directory, which differ
/// in every run. Empty for a text that is no YAML map.
using Settings = std::vector<std::pair<std::string, std::string>>;
Settings settings_of(const std::string& config);

}  // namespace loupe::html

#endif
