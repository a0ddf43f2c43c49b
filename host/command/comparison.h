#pragma once

#include <cstddef>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "record/run_result.h"

namespace loupe {

/// Says which run is best in each loss, and what was different: sentences, a table with a row a run, best first, and
/// what was the same. A table that is wider than `columns` goes on below itself.
/// @param names of the runs, as many as there are results
void tell_comparison(const std::vector<std::string>& names, const std::vector<RunResult>& results,
                     std::optional<std::size_t> columns, std::ostream& out);

}  // namespace loupe
