#pragma once

#include <atomic>
#include <chrono>

namespace loupe {

/// Seconds since 1970, UTC.
inline double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

namespace clock_detail {
inline double system_steady_time() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
inline std::atomic<double (*)()> steady_clock{&system_steady_time};
}  // namespace clock_detail

/// Seconds since an unspecified moment, for durations; never goes back. Any thread.
inline double steady_time() {
  return clock_detail::steady_clock.load(std::memory_order_relaxed)();
}
/// Replaces the clock of steady_time in this process, for tests; null restores the system's. Any thread.
inline void set_steady_clock(double (*clock)()) {
  clock_detail::steady_clock = clock != nullptr ? clock : &clock_detail::system_steady_time;
}

}  // namespace loupe
