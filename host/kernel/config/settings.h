#pragma once

#include <loupe/detail/option_values.h>

#include <string>

namespace loupe {

/// The settings of a configuration by dotted names, in order, so that two configurations with different layouts can be
/// compared: "run.tick.steps", "lenses.output_norm.line". Each is a text as written, a list of texts, or true for a
/// name without a value. Empty for text that is not a configuration. A very large one is cut, as anybody may have
/// written it into a record.
OptionValues settings_of(const std::string& config);

/// Offers the service LOUPE_DRAFT_SETTINGS_ID to all components of this process. Any thread.
void offer_settings();

}  // namespace loupe
