#pragma once

// A process may end by exit() while its objects live on: what threads of ours have left to do is done before then.

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <set>

namespace loupe::mlflow {

/// The threads of one plugin, to be ended with the process. Any thread.
class ThreadsAtExit {
 public:
  class Thread {
   public:
    virtual ~Thread() = default;
    /// Does what is left to do and ends, or gives up after `patience`.
    virtual void end_with_process(std::chrono::seconds patience) = 0;
  };

  /// Never destroyed: it is used while the process ends.
  static ThreadsAtExit& get() {
    static auto* const threads = new ThreadsAtExit();
    return *threads;
  }
  void add(Thread& thread) {
    const std::lock_guard lock(mutex_);
    static const int registered = std::atexit([] { get().end_all(); });
    static_cast<void>(registered);
    threads_.insert(&thread);
  }
  void remove(Thread& thread) {
    const std::lock_guard lock(mutex_);
    threads_.erase(&thread);
  }

 private:
  void end_all() {
    const std::lock_guard lock(mutex_);
    for (Thread* thread : threads_) thread->end_with_process(std::chrono::seconds(10));
    threads_.clear();
  }

  std::mutex mutex_;
  std::set<Thread*> threads_;
};

}  // namespace loupe::mlflow
