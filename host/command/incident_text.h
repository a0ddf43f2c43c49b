#pragma once

#include <iosfwd>
#include <string>

namespace loupe {

/// Tells the folder of an incident in words: why it was written, what was found, and the last steps of each stream,
/// those of the module blamed first. Throws ConfigError for one that is not whole.
void show_incident(const std::string& folder, std::ostream& out);

}  // namespace loupe
