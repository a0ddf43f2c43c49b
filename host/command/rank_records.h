#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ranks/states_file.h"
#include "record/record_line.h"

namespace loupe {

/// What a process of a run left in its folder.
struct RankRecord {
  std::string record;
  replay::RecordedRun run;
  std::unique_ptr<StatesReader> states;
};

/// The ranks of one run, rank 0 first, then as they are numbered; some may be missing.
/// @param paths  folders of ranks, their records, or the folder of the run, which is rank 0's; those beside rank 0 are
///               found by themselves, and so is rank 0 beside the others
/// Throws UsageError for what cannot be put together, and ConfigError for a wrong record.
std::vector<RankRecord> rank_records(const std::vector<std::string>& paths);

}  // namespace loupe
