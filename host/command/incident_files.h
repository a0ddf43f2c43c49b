#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace loupe {

/// What the folder of an incident holds, such as incident-412, which a run wrote.
struct IncidentFiles {
  using Json = nlohmann::ordered_json;

  Json about;                  ///< the run, and why the folder was written
  std::vector<Json> findings;  ///< as a record's lines
  std::vector<Json> lines;     ///< of a stream and a step each, those of the module blamed first
  std::string config;          ///< the run's YAML; empty where it cannot be read
};

/// Whether that is a folder which a run wrote for an incident.
bool is_incident(const std::string& folder);
/// Throws ConfigError for a folder that is not whole; the last line of a full disk may be cut off.
IncidentFiles read_incident(const std::string& folder);

/// "because of the finding 'dead_units' at 'fc1'"
std::string cause_of(const IncidentFiles::Json& about);
/// A text on one line; empty where there is none.
std::string text_of(const IncidentFiles::Json& json, const char* key);
/// A number, or the name of one that JSON has no digits for; empty where there is none.
std::string number_of(const IncidentFiles::Json& json, const char* key);

}  // namespace loupe
