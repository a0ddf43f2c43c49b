#pragma once

#include <chrono>

#include "core/shared.h"

namespace loupe {

/// Seconds since 1970, UTC.
inline double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Seconds since an unspecified moment, for durations; never goes back. Any thread.
LOUPE_SHARED double steady_time();
/// Replaces the clock of steady_time in this process, for tests; null restores the system's. Any thread.
void set_steady_clock(double (*clock)());

}  // namespace loupe
