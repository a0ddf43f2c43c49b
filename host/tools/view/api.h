#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "view/run_list.h"

namespace loupe::view {

/// The root of the addresses that answer programs; README.md beside this file describes them.
inline constexpr std::string_view api_runs = "/api/runs";

/// Returns the findings of a record as the JSON of `loupe diagnose --json`. Throws if the record cannot be read.
using FindingsOf = std::function<std::string(const std::string& record)>;

/// The addresses of a run as JSON and of its report. They name its folder, so that they stay valid when the server is
/// started again.
std::string api_address(const FoundRun& run);
std::string report_address(const FoundRun& run);

/// All runs, as JSON.
std::string api_list(const RunsSnapshot& told);

/// The run at "/api/runs/" plus its address, which may be percent-encoded; null if there is no such run.
const RunsSnapshot::Run* api_run_at(const RunsSnapshot& told, std::string_view path);

/// Whether the path has the form of one run's address; the run need not exist.
bool is_api_of_run(std::string_view path);

/// The answer to a change of a run's notes, as JSON.
std::string api_notes(const RunNotes& notes);

/// One run with its findings, as JSON. Throws what `findings_of` throws.
std::string api_run(const RunsSnapshot::Run& run, const FindingsOf& findings_of);

}  // namespace loupe::view
