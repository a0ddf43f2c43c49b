#pragma once

#include <loupe/detail/option_values.h>

#include <map>
#include <string>

namespace loupe {

/// The settings of a configuration by dotted names, in their order, so that two configurations can be compared whatever
/// their layout: "run.tick.steps". A component of a list goes by its own name: "lenses.output_norm.line". Each is a
/// text as it is written, a list of texts, or true where nothing but the name is there. Empty for what is no
/// configuration. A very large one is cut: anybody may have written the one that a record holds.
OptionValues settings_of(const std::string& config);

/// The same as texts.
std::map<std::string, std::string> setting_texts(const std::string& config);

}  // namespace loupe
