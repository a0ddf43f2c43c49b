#ifndef LOUPE_COMMAND_INCIDENT_TEXT_H
#define LOUPE_COMMAND_INCIDENT_TEXT_H

#include <iosfwd>
#include <string>

namespace loupe {

/// Whether that is a folder, such as incident-412, which a run wrote.
bool is_incident(const std::string& folder);

/// Tells an incident in words: why it was written, what was found, and the last steps of each stream, those of the
/// module blamed first. Throws ConfigError for one that is not whole.
void show_incident(const std::string& folder, std::ostream& out);

}  // namespace loupe

#endif
