#ifndef LOUPE_VIEW_RUN_STATE_H
#define LOUPE_VIEW_RUN_STATE_H

#include <filesystem>
#include <string>

#include "view/run_summary.h"

namespace loupe::view {

enum class RunState {
  reading,  ///< its record was not read to the end yet
  running,
  stopped,  ///< without an end, such as a run that was killed
  completed,
  interrupted,
  failed,
  ended,  ///< the record does not say how
  damaged,
};

/// How a run stands, by its record; whether one without an end goes on, by whether a process holds its folder, else by
/// how long its record has been silent.
/// @param now  seconds since 1970
RunState state_of(const RunSummary& run, const std::filesystem::path& folder, double now);

/// The same as one word, for programs.
const char* word_of(RunState state);

/// Whether a process of this machine holds the folder as its run's. Takes no lock itself, which could get into a
/// trainer's way.
bool is_held(const std::filesystem::path& folder);

}  // namespace loupe::view

#endif
