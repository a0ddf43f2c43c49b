#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "view/run_list.h"

namespace loupe::view {

/// What programs are answered under these addresses; README.md beside this describes it.
inline constexpr std::string_view api_runs = "/api/runs";

/// The findings of a record, as the JSON of `loupe diagnose --json`. Throws where it cannot be read.
using FindingsOf = std::function<std::string(const std::string& record)>;

/// Where the server has a run as JSON, and its report as a page: by its folder, so that an address means the same run
/// when the server is started again.
std::string api_address(const FoundRun& run);
std::string report_address(const FoundRun& run);

/// All runs, as JSON.
std::string api_list(const RunsSnapshot& told);

/// The run behind "/api/runs/" and its address, which may be percent-encoded; null without one.
const RunsSnapshot::Run* api_run_at(const RunsSnapshot& told, std::string_view path);

/// Whether the path names one run, which may be none.
bool is_api_of_run(std::string_view path);

/// What is said of a run after a change, as JSON.
std::string api_notes(const RunNotes& notes);

/// One run with its findings, as JSON. Throws what `findings_of` throws.
std::string api_run(const RunsSnapshot::Run& run, const FindingsOf& findings_of);

}  // namespace loupe::view
