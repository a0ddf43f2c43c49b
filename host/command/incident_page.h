#pragma once

#include <string>

#include "record/player.h"

namespace loupe {

/// Plays the folder of an incident to visualizers as a run of its own (LOUPE_RUN_INCIDENT), a tick a step: what each
/// stream measured, what was found, and why it was written as hyperparameters `incident.*`. Their files belong into
/// `directory`. Throws ConfigError for a folder that is not whole, and Error when a visualizer fails.
void play_incident(const std::string& folder, const std::string& directory, replay::VisualizerGroup& visualizers);

}  // namespace loupe
