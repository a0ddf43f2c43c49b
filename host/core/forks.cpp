#include "core/forks.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

namespace loupe {
namespace {

std::atomic<uint64_t> forks{0};

/// Never destroyed: a process may fork while it ends.
struct Forks {
  std::mutex mutex;
  std::vector<ProcessMutex*> locks;  // by rank
  std::vector<void (*)()> in_child;
  std::vector<std::shared_ptr<const void>> left;  // reachable, and so no leak

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
    all.mutex.lock();
    for (ProcessMutex* each : all.locks) each->lock_for_fork();
  }
  static void unlock_all(Forks& all) {
    std::for_each(all.locks.rbegin(), all.locks.rend(), [](ProcessMutex* each) { each->unlock_after_fork(); });
    all.mutex.unlock();
  }
  static void after_in_parent() { unlock_all(instance()); }
  static void after_in_child() {
    Forks& all = instance();
    unlock_all(all);
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

ProcessMutex::ProcessMutex(LockRank rank) : rank_(rank) {
  Forks& all = Forks::instance();
  const std::lock_guard lock(all.mutex);
  const auto after = std::upper_bound(all.locks.begin(), all.locks.end(), rank,
                                      [](LockRank value, const ProcessMutex* each) { return value < each->rank(); });
  all.locks.insert(after, this);
}

}  // namespace loupe
