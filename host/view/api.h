#ifndef LOUPE_VIEW_API_H
#define LOUPE_VIEW_API_H

#include <functional>
#include <string>
#include <string_view>

#include "view/run_list.h"

namespace loupe::view {

/// What programs are answered under these addresses; README.md beside this describes it.
inline constexpr std::string_view api_runs = "/api/runs";

/// The findings of a record, as the JSON of `loupe diagnose --json`. Throws where it cannot be read.
using FindingsOf = std::function<std::string(const std::string& record)>;

/// All runs, as JSON.
std::string api_list(const RunsTold& told);

/// The run behind "/api/runs/" and its address, which may be percent-encoded; null where there is none.
const RunsTold::Run* api_run_at(const RunsTold& told, std::string_view path);

/// One run with its findings, as JSON. Throws what `findings_of` throws.
std::string api_run(const RunsTold::Run& run, const FindingsOf& findings_of);

}  // namespace loupe::view

#endif
