#pragma once

#include <loupe/abi.h>

#include <filesystem>

namespace loupe::record {

/// Tells a visualizer what a record has before epoch `before`; see loupe_draft_history.
/// @param self  the first argument of the table's functions
/// Throws Error: NOT_FOUND where there is no record, INVALID for what is wrong with it, what the visualizer answers.
void play_past(const std::filesystem::path& record, double before, bool with_events, const loupe_visualizer& to,
               void* self);

}  // namespace loupe::record
