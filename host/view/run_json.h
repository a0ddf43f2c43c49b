#ifndef LOUPE_VIEW_RUN_JSON_H
#define LOUPE_VIEW_RUN_JSON_H

#include <nlohmann/json.hpp>
#include <string>

#include "view/run_state.h"
#include "view/run_summary.h"

namespace loupe::view {

/// A run as a row of the page's list. What JSON has no number for is a text, such as "NaN".
nlohmann::ordered_json row_of(const RunSummary& run, RunState state);

/// The run's name, else its folder's.
std::string name_of(const RunSummary& run, const std::filesystem::path& folder);

}  // namespace loupe::view

#endif
