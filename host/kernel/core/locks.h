#pragma once

#include <chrono>
#include <mutex>
#include <thread>

#include "core/shared.h"
#include "core/strict.h"

namespace loupe {

/// The order in which a thread may take Loupe's locks: each only while it holds none of the same rank or a later one.
/// Messages of a lens wait in the outbox, whose lock is a leaf. Visualizers and the callback of on_finding are called
/// under no lock; the thread that ticks may wait for visualizers under the inspector's lock, which they must not take.
enum class LockRank : unsigned {
  program,    ///< the state of `loupe run` about the program
  inspector,  ///< an inspector: attaching, steps, ticks and the calls of lenses at those
  module,     ///< one module: events, and reading their numbers
  functions,  ///< the functions that were seen after a module
  registry,   ///< the watched modules of the process
  leaf,       ///< tables that are held for a few instructions
};

/// Checks that order for each thread under LOUPE_CHECK=strict.
class LockOrder {
 public:
  /// Call before waiting for a lock. Ends the process if that breaks the order.
  LOUPE_SHARED static void expect(LockRank rank, const void* mutex);
  LOUPE_SHARED static void locked(LockRank rank, const void* mutex);
  LOUPE_SHARED static void unlocked(const void* mutex);
};

/// A mutex with a place in that order.
template <class Mutex, LockRank rank>
class OrderedMutex {
 public:
  void lock() {
    if (is_strict) LockOrder::expect(rank, this);
    mutex_.lock();
    if (is_strict) LockOrder::locked(rank, this);
  }
  bool try_lock() {
    const bool has_it = mutex_.try_lock();
    if (is_strict && has_it) LockOrder::locked(rank, this);
    return has_it;
  }
  template <class Duration>
  bool try_lock_for(const Duration& patience) {
    const bool has_it = mutex_.try_lock_for(patience);
    if (is_strict && has_it) LockOrder::locked(rank, this);
    return has_it;
  }
  void unlock() {
    if (is_strict) LockOrder::unlocked(this);
    mutex_.unlock();
  }

 private:
  Mutex mutex_;
};

/// An inspector's mutex. Counts per thread, so that user code can be kept from running while one is held.
class InspectorMutex : public OrderedMutex<std::recursive_mutex, LockRank::inspector> {
  using Base = OrderedMutex<std::recursive_mutex, LockRank::inspector>;

 public:
  void lock() {
    Base::lock();
    ++held_;
  }
  bool try_lock() {
    const bool has_it = Base::try_lock();
    held_ += has_it ? 1 : 0;
    return has_it;
  }
  void unlock() {
    --held_;
    Base::unlock();
  }
  /// Whether this thread holds the mutex of any inspector.
  static bool is_held_here() { return held_ > 0; }

 private:
  static inline thread_local constinit int held_ = 0;
};
using ModuleMutex = OrderedMutex<std::mutex, LockRank::module>;
using LeafMutex = OrderedMutex<std::mutex, LockRank::leaf>;

/// Locks at an abnormal end, when a thread may never release a lock: gives up after `patience`.
template <class Mutex>
std::unique_lock<Mutex> lock_soon(Mutex& mutex, std::chrono::milliseconds patience = std::chrono::milliseconds(100)) {
  std::unique_lock lock(mutex, std::try_to_lock);
  for (auto i = patience.count(); i > 0 && !lock.owns_lock(); --i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    static_cast<void>(lock.try_lock());
  }
  return lock;
}

}  // namespace loupe
