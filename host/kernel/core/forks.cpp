#include "core/forks.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <shared_mutex>
#include <thread>
#include <vector>

namespace loupe {
namespace {

std::atomic<uint64_t> forks{0};
thread_local constinit int holds_here = 0;              // number of ForksHeld objects
thread_local constinit bool is_exclusive_here = false;  // this thread forks, and none has a ForksHeld

/// This is never destroyed, because a process may fork while it ends.
struct Forks {
  std::shared_timed_mutex held;  // shared by those that have a ForksHeld
  std::mutex mutex;
  std::vector<ProcessMutex*> locks;  // the locks, by rank
  std::vector<void (*)()> in_child;
  std::vector<std::shared_ptr<const void>> left;  // reachable, so not a leak

  static Forks& instance() {
    static auto* const made = [] {
      pthread_atfork(&before, &after_in_parent, &after_in_child);
      return new Forks();
    }();
    return *made;
  }

 private:
  static void before() {
    Forks& all = instance();
    is_exclusive_here = holds_here == 0 && all.held.try_lock_for(std::chrono::seconds(5));
    while (!all.try_lock_all()) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  /// Takes all locks or none. Never waits for a lock while holding others, because its owner may want one of those.
  bool try_lock_all() {
    mutex.lock();
    const auto busy =
        std::find_if_not(locks.begin(), locks.end(), [](ProcessMutex* each) { return each->try_lock_for_fork(); });
    if (busy == locks.end()) return true;
    unlock(busy);
    return false;
  }
  /// Unlocks the locks before `end`.
  void unlock(std::vector<ProcessMutex*>::iterator end) {
    std::for_each(locks.begin(), end, [](ProcessMutex* each) { each->unlock_after_fork(); });
    mutex.unlock();
  }
  static void after_in_parent() {
    Forks& all = instance();
    all.unlock(all.locks.end());
    if (is_exclusive_here) all.held.unlock();
  }
  static void after_in_child() {
    Forks& all = instance();
    all.unlock(all.locks.end());
    new (&all.held) std::shared_timed_mutex();  // other threads may have held the old one
    forks.fetch_add(1);
    for (const auto& each : all.in_child) each();
  }
};

}  // namespace

uint64_t forks_of_process() {
  return forks.load(std::memory_order_relaxed);
}

void at_fork(void (*in_child)()) {
  Forks& all = Forks::instance();
  const std::lock_guard lock(all.mutex);
  all.in_child.push_back(in_child);
}

void leave_to_parent(std::shared_ptr<const void> left) {
  Forks& all = Forks::instance();
  const std::lock_guard lock(all.mutex);
  all.left.push_back(std::move(left));
}

LOUPE_SHARED ForksHeld::ForksHeld() {
  if (holds_here++ == 0) Forks::instance().held.lock_shared();
}

LOUPE_SHARED ForksHeld::~ForksHeld() {
  if (--holds_here == 0 && forks_ == forks_of_process()) Forks::instance().held.unlock_shared();
}

ProcessMutex::ProcessMutex(LockRank rank) : rank_(rank) {
  Forks& all = Forks::instance();
  const std::lock_guard lock(all.mutex);
  const auto after = std::upper_bound(all.locks.begin(), all.locks.end(), rank,
                                      [](LockRank value, const ProcessMutex* each) { return value < each->rank(); });
  all.locks.insert(after, this);
}

}  // namespace loupe
