#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "view/followed_record.h"

namespace loupe::view {

enum class RunState {
  reading,  ///< its record was not read to the end yet
  running,
  unknown,  ///< without an end, and nothing on this machine shows whether its process lives
  crashed,  ///< its process died without an end, or a later run took its folder
  completed,
  interrupted,
  failed,
  ended,  ///< the record does not say how
  damaged,
};

struct RunStanding {
  RunState state = RunState::reading;
  std::string why;  ///< for people; may be empty

  bool operator==(const RunStanding&) const = default;
};

/// The state of a run, by the end of its record; without one, by the process that the lock of its folder names. Takes
/// no lock itself, which could get into a trainer's way.
RunStanding standing_of(const replay::RunSummary& run, const std::filesystem::path& folder);
/// The same, also while the record is read and where it is damaged.
RunStanding standing_of(const FollowedRecord& record, const std::filesystem::path& folder);

/// The state of a run whose record has no end.
/// @param run  the folder of its record; "" is the current one
RunStanding standing_by_lock(const std::filesystem::path& run);
/// That as flags of loupe_run, for visualizers that a record is played to: 0 while the run trains.
std::uint32_t flags_by_lock(const std::filesystem::path& run);

/// Whether the record may still grow.
bool goes_on(RunState state);

/// The state as one word, for programs.
const char* word_of(RunState state);
/// The state as people read it: "crashed or killed".
std::string words_of(RunState state);

}  // namespace loupe::view
