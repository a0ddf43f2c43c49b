#pragma once

#include <loupe/abi.h>

#include <filesystem>

namespace loupe::record {

/// Replays the part of a record before epoch `before` to a visualizer; see loupe_draft_history.
/// @param self  the first argument of the table's functions
/// Throws Error: NOT_FOUND if there is no record, INVALID if the record is faulty, or the visualizer's status.
void play_past(const std::filesystem::path& record, double before, bool with_events, const loupe_visualizer& to,
               void* self);

}  // namespace loupe::record
