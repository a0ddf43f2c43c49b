#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "core/locks.h"
#include "core/shared.h"

namespace loupe {

/// The number of forks between the process that loaded Loupe and this one. An object created at another count belongs
/// to a parent, whose files and threads this process does not have. Any thread.
LOUPE_SHARED uint64_t forks_of_process();

/// Calls `in_child` in every forked child from now on, in the order of registration. Only the forking thread exists
/// there, and `in_child` must not allocate: not every allocator works in a child.
LOUPE_SHARED void at_fork(void (*in_child)());

/// While one lives, other threads delay a fork, for a few seconds at most, so objects that this thread creates, such as
/// an inspector with its plugins, are complete in every child. It may nest, and any code may run meanwhile, also a
/// fork.
class ForksHeld {
 public:
  ForksHeld();
  ~ForksHeld();
  ForksHeld(const ForksHeld&) = delete;
  ForksHeld& operator=(const ForksHeld&) = delete;

 private:
  const uint64_t forks_ = forks_of_process();
};

/// Detects that the process was forked since the last call. Call it under the lock of the object that holds it.
class ForkWatch {
 public:
  /// True once after each fork.
  bool is_new_process() {
    const uint64_t now = forks_of_process();
    return std::exchange(seen_, now) != now;
  }

 private:
  uint64_t seen_ = forks_of_process();
};

/// Keeps an object of the parent forever in a forked child, since the threads needed to destroy it do not exist.
LOUPE_SHARED void leave_to_parent(std::shared_ptr<const void> left);

/// A short-held lock on process-wide data. It is held across each fork, so that the child finds it free and its data
/// intact. Never destroyed. No user code may run while it is held.
class ProcessMutex {
 public:
  LOUPE_SHARED explicit ProcessMutex(LockRank rank = LockRank::leaf);

  void lock() {
    if (is_strict) LockOrder::expect(rank_, this);
    mutex_.lock();
    if (is_strict) LockOrder::locked(rank_, this);
  }
  void unlock() {
    if (is_strict) LockOrder::unlocked(this);
    mutex_.unlock();
  }
  LockRank rank() const { return rank_; }
  bool try_lock_for_fork() { return mutex_.try_lock(); }
  void unlock_after_fork() { mutex_.unlock(); }

 private:
  LockRank rank_;
  std::mutex mutex_;
};

}  // namespace loupe
