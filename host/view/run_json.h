#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "view/run_state.h"
#include "view/run_summary.h"

namespace loupe::view {

/// A run as a row of the page's list. What JSON has no number for is a text, such as "NaN".
nlohmann::ordered_json row_of(const RunSummary& run, const RunStanding& standing);

/// When it started, in seconds since 1970. A record that cannot be read does not say; its file's time is near enough.
double start_of(const RunSummary& run);

/// The run's name, else its folder's.
std::string name_of(const RunSummary& run, const std::filesystem::path& folder);

}  // namespace loupe::view
