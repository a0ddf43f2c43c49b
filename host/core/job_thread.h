#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <thread>

namespace loupe {

/// Does jobs, one at a time and in their order, on a thread of its own, which the first job starts. Jobs are called
/// with no lock held; what one throws is logged. Calls on this never overlap, and do not come from a job. A forked
/// child does not have the thread: there nothing is done, and nothing waits.
class JobThread {
 public:
  using Job = std::function<void()>;

  /// @param name  9 characters at most
  explicit JobThread(const char* name);
  /// Ends it.
  ~JobThread();
  JobThread(const JobThread&) = delete;
  JobThread& operator=(const JobThread&) = delete;

  /// Waits while thousands of jobs are not done yet. Where the system gives no thread, that is logged once, and the job
  /// is done here. @param is_large  counts for wait_for_large
  void post(Job job, bool is_large = false);
  /// Returns when fewer than `most` large jobs are not done yet.
  void wait_for_large(std::size_t most);
  /// Returns when all jobs are done. False where they never will be, as their thread ends the process itself, was ended
  /// by a job, or is the parent's.
  bool wait();
  /// Does what is left, and ends the thread; the next job starts another one. False as above: the thread may go on
  /// using what its jobs refer to, so that has to stay.
  bool end();

  /// For a process that ends by exit() or std::terminate: where this is called on such a thread, from within a job,
  /// nobody waits for that thread any more. Else it does nothing.
  static void leave_own();
  /// Waits until all jobs of this process are done, up to `patience`. Returns whether they are; at once on such a
  /// thread. Any thread, and safe in a signal handler.
  static bool all_done(std::chrono::milliseconds patience) noexcept;

 private:
  struct State;

  bool is_out_of_reach() const;
  bool start();
  static void work(State& state);

  const char* name_;
  std::shared_ptr<State> state_;  // the thread has it too
  std::thread thread_;
  pid_t process_ = 0;
  bool has_told_ = false;  // that the system gives no thread
};

}  // namespace loupe
