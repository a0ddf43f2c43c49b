#pragma once

#include <atomic>

namespace loupe {

/// Adds its lifetime to the time that Loupe's own code takes in this process; what lies within another one counts once.
class OwnTime {
 public:
  enum class Of {
    none,
    hooks,    ///< what the program waits for in its steps; counted only while somebody wants it
    reports,  ///< ticks, and what Loupe's own threads do; always counted
  };

  explicit OwnTime(Of of);
  ~OwnTime();
  OwnTime(const OwnTime&) = delete;
  OwnTime& operator=(const OwnTime&) = delete;

  // Any thread.
  /// Somebody wants the time of hooks, or no longer does.
  static void want(bool wanted) { wanted_.fetch_add(wanted ? 1 : -1, std::memory_order_relaxed); }
  static bool is_wanted() { return wanted_.load(std::memory_order_relaxed) > 0; }
  /// Seconds until now, of all threads; of other threads without the current stretch.
  static double spent(Of of);
  static void add(Of of, double seconds);

 private:
  static std::atomic<int> wanted_;
  bool counts_;
  Of outer_ = Of::none;
};

}  // namespace loupe
