#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "view/followed_record.h"

namespace loupe::view {

enum class RunState {
  reading,  ///< its record was not read to the end yet
  running,
  unknown,  ///< it has no end, and this machine cannot see whether its process lives
  crashed,  ///< its process died without an end, or a later run took its folder
  completed,
  interrupted,
  failed,
  ended,  ///< the record does not contain how it ended
  damaged,
};

struct RunStanding {
  RunState state = RunState::reading;
  std::string why;  ///< for people; may be empty

  bool operator==(const RunStanding&) const = default;
};

/// The state of a run from the end line of its record; without one, from the process that the lock of its folder names.
/// Takes no lock, which could block a trainer.
RunStanding standing_of(const replay::RunSummary& run, const std::filesystem::path& folder);
/// The same, also while the record is being read, or if it is damaged.
RunStanding standing_of(const FollowedRecord& record, const std::filesystem::path& folder);

/// The state of a run whose record has no end line.
/// @param run  the folder of its record; "" is the current one
RunStanding standing_by_lock(const std::filesystem::path& run);
/// The same as flags of loupe_run, for visualizers that replay a record: 0 while the run trains.
std::uint32_t flags_by_lock(const std::filesystem::path& run);

/// Whether the record may still grow.
bool goes_on(RunState state);

/// The state as one word, for programs.
const char* word_of(RunState state);
/// The state in words for people: "crashed or killed".
std::string words_of(RunState state);

}  // namespace loupe::view
