#pragma once

#include <optional>
#include <string>
#include <vector>

#include "record/record_line.h"
#include "record/run_result.h"

namespace loupe {

/// The records of a run's other processes, beside the record of rank 0.
struct OtherRanks {
  std::vector<std::string> records;
  std::string lacking;  ///< which have none, in a sentence; empty where all have one
};
/// None for a run of one process, and for a record of another rank. Those of a merged run lie beside its folder.
OtherRanks other_ranks(const std::string& record, const replay::RecordedRun& run);

/// Whether `loupe merge` put a record into the folder of its run.
bool is_merged(const std::string& record);

/// What a rank ran with.
struct RankSettings {
  int rank = 0;
  RunResult::Settings settings;
};
/// A warning, as a record's line of a finding, that ranks ran with different settings; none where they did not.
std::optional<replay::RecordLine> ranks_differ(const std::vector<RankSettings>& ranks, double last_epoch);

}  // namespace loupe
