#pragma once

#include <cxxabi.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "core/shared.h"

namespace loupe {

/// A thread-local T for code that taps reach: a model may run in the destructor of a static or thread_local object,
/// when an ordinary thread_local is destroyed. This one is then created again.
template <class T>
class ThreadOwn {
 public:
  static T& get() {
    if (own_ == nullptr) make();
    return *own_;
  }

 private:
  static void make() {
    own_ = new T();
    // Also works while a thread's objects are being destroyed. Objects that the main thread creates later, while static
    // objects are destroyed, are leaked: nothing shows when they are no longer used.
    abi::__cxa_thread_atexit(&end, own_, reinterpret_cast<void*>(&end));
  }
  static void end(void* own) {
    own_ = nullptr;  // first, as the destructor may need a new one
    delete static_cast<T*>(own);
  }

  static inline thread_local constinit T* own_ = nullptr;
};

/// Runs jobs in order on its own thread, which the first job starts. Jobs run with no lock held; exceptions are logged.
/// Calls on this never overlap, and do not come from a job. A forked child does not have the thread: there no job runs,
/// and nothing waits.
class JobThread {
 public:
  using Job = std::function<void()>;

  /// @param name  9 characters at most
  /// @param while_waiting  called about twice a second on a thread that waits for jobs, with no lock of this held
  explicit JobThread(const char* name, std::function<void()> while_waiting = {});
  /// Ends it.
  ~JobThread();

  /// Waits while thousands of jobs are pending. If no thread can be started, logs that once and runs the job here.
  /// @param weight  counts for wait_for_less
  void post(Job job, std::size_t weight = 0);
  /// Returns when the pending jobs together weigh less than `most`.
  void wait_for_less(std::size_t most);
  /// Returns when all jobs are done. False if they never will be: their thread ends the process itself, was ended by a
  /// job, or is the parent's.
  bool wait();
  /// Runs the remaining jobs and ends the thread; the next job starts another one. False as for wait(): then the thread
  /// may still use data of its jobs, which must stay alive.
  bool end();

  /// Call it when a process ends by exit() or std::terminate: if the caller is such a thread, within a job, nothing
  /// waits for that thread any more. Otherwise does nothing.
  static void leave_own();
  /// Waits up to `patience` until all jobs of this process are done, and returns whether they are; on such a thread
  /// returns at once. Any thread, and safe in a signal handler.
  static bool all_done(std::chrono::milliseconds patience) noexcept;

 private:
  struct State;

  bool is_out_of_reach() const;
  bool start();
  template <class Done>
  void await(std::unique_lock<std::mutex>& lock, Done done);
  static void work(State& state);

  const char* name_;
  std::function<void()> while_waiting_;
  std::shared_ptr<State> state_;  // shared with the thread
  std::thread thread_;
  pid_t process_ = 0;
  bool has_told_ = false;  // a missing thread was reported
};

/// Runs `work` on its own thread, which takes none of the program's signals and which nobody waits for. False if no
/// thread can be started.
/// @param name  9 characters at most
bool run_aside(const char* name, std::function<void()> work) noexcept;

/// The C library ends a process when its last thread ends. After main() has ended by pthread_exit, threads of Loupe's
/// must not keep it alive: once only those are left (see name_own_thread), it is ended in the same way, by exit(0).
/// Needs /proc. From now on, in this process; any thread.
void end_with_last_thread();

/// Reports the end of the main thread, for a library that was loaded on another thread while main() ran.
LOUPE_SHARED void main_thread_ended();

}  // namespace loupe
