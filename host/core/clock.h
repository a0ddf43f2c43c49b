#pragma once

namespace loupe {

/// Seconds since 1970, UTC.
double wall_time();

/// Seconds since some moment; never goes back. What durations are measured with. Any thread.
double steady_time();
/// Tests tell steady_time by this; null restores the system's. The process's; any thread.
void set_steady_clock(double (*clock)());

}  // namespace loupe
