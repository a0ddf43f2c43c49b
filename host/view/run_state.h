#pragma once

#include <filesystem>
#include <string>

#include "view/followed_record.h"

namespace loupe::view {

enum class RunState {
  reading,  ///< its record was not read to the end yet
  running,
  unknown,  ///< without an end so far, and nothing on this machine says whether its process lives
  killed,   ///< its process is gone and recorded no end
  stopped,  ///< without an end, and a later run took its folder
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

/// How a run stands, by the end of its record; without one, by the process that the lock of its folder names. Takes no
/// lock itself, which could get into a trainer's way.
RunStanding standing_of(const FollowedRecord& record, const std::filesystem::path& folder);

/// The same of a run whose record says no end.
RunStanding standing_by_lock(const std::filesystem::path& folder);

/// Whether the record may still grow.
bool goes_on(RunState state);

/// The same as one word, for programs.
const char* word_of(RunState state);

}  // namespace loupe::view
