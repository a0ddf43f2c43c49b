#pragma once

#include <atomic>

namespace loupe {

/// Adds its lifetime to the time that Loupe's own code takes in this process; nested lifetimes count once.
class OwnTime {
 public:
  enum class Of {
    none,
    hooks,    ///< the time that a program's steps wait for Loupe; counted only on request
    reports,  ///< ticks, and the work of Loupe's own threads; always counted
  };

  explicit OwnTime(Of of);
  ~OwnTime();
  OwnTime(const OwnTime&) = delete;
  OwnTime& operator=(const OwnTime&) = delete;

  // Any thread.
  /// Requests the time of hooks, or ends a request.
  static void want(bool wanted) { wanted_.fetch_add(wanted ? 1 : -1, std::memory_order_relaxed); }
  static bool is_wanted() { return wanted_.load(std::memory_order_relaxed) > 0; }
  /// Seconds until now, of all threads; without the current interval of other threads.
  static double spent(Of of);
  static void add(Of of, double seconds);

 private:
  static std::atomic<int> wanted_;
  bool counts_;
  Of outer_ = Of::none;
};

}  // namespace loupe
