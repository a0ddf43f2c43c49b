#include "core/threads.h"

#include <loupe/abi.h>
#include <loupe/detail/own_thread.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include "core/forks.h"
#include "core/log.h"
#include "core/own_time.h"

namespace loupe {

struct JobThread::State {
  struct Posted {
    Job job;
    std::size_t weight;
  };

  std::mutex mutex;
  std::condition_variable wake, news;  // a job was posted; a job is done
  std::deque<Posted> queue;
  std::size_t weight = 0;  // the weight of all pending jobs
  bool is_busy = false, is_ending = false;
  bool is_left = false;  // the thread never returns from its job

  bool is_idle() const { return queue.empty() && !is_busy; }
};

namespace {

constexpr std::size_t most_jobs = 4096;

// A signal handler may read these.
std::atomic<std::size_t> not_done{0};  // jobs of all threads of this process
thread_local constinit bool is_job_thread = false;
thread_local constinit void* own_state = nullptr;

/// While one lives, new threads leave the program's signals to the program's threads, but take their own faults.
class ProgramSignalsHeld {
 public:
  ProgramSignalsHeld() {
    sigset_t held;
    sigfillset(&held);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGPROF})
      sigdelset(&held, fault);
    pthread_sigmask(SIG_SETMASK, &held, &before_);
  }
  ~ProgramSignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  ProgramSignalsHeld(const ProgramSignalsHeld&) = delete;
  ProgramSignalsHeld& operator=(const ProgramSignalsHeld&) = delete;

 private:
  sigset_t before_;
};

/// A forked child has none of its parent's jobs.
void count_anew_in_children() {
  [[maybe_unused]] static const bool once = (at_fork([] { not_done.store(0); }), true);
}

/// Seconds that this thread has kept a processor busy.
double busy_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Throws only the forced unwinding that ends the thread.
void do_job(const JobThread::Job& job) try {
  try {
    job();
  } catch (const std::exception& reason) {
    log(LOUPE_LOG_ERROR, std::string("some output to visualizers is lost: ") + reason.what());
  }
} catch (const abi::__forced_unwind&) {
  throw;
} catch (...) {  // without memory even the report fails
}

std::atomic<bool> is_wanted{false}, main_has_ended{false}, is_watching{false};

bool is_main_thread() {
  return ::syscall(SYS_gettid) == ::getpid();
}

/// Whether the thread's name marks it as Loupe's. A thread that has ended by now counts as Loupe's, too.
bool is_own(const std::filesystem::path& thread) {
  std::string name;
  std::getline(std::ifstream(thread / "comm"), name);
  return name.empty() || name.rfind(detail::own_thread_prefix, 0) == 0;
}

/// Ignores the main thread, which stays in the list after its end. True if the system does not list threads.
bool has_threads_of_the_program() try {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return std::any_of(begin(threads), end(threads), [](const auto& each) {
    return each.path().filename() != std::to_string(::getpid()) && !is_own(each.path());
  });
} catch (const std::exception&) {
  return true;
}

void watch_threads() {
  // Check twice in a row: a thread that starts another one and ends may be missing from one list.
  for (int alone = 0; alone < 2; alone = has_threads_of_the_program() ? 0 : alone + 1)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::exit(0);
}

void watch_where_due() {
  if (!is_wanted || !main_has_ended || is_watching.exchange(true)) return;
  run_aside("end", &watch_threads);  // if no thread can be started, there are none of Loupe's, either
}

/// Called by the end of a thread, but not by exit().
void on_end_of_thread(void*) {
  if (is_main_thread()) main_thread_ended();
}

__attribute__((constructor)) void await_end_of_main_thread() {
  static pthread_key_t key;
  if (is_main_thread() && pthread_key_create(&key, &on_end_of_thread) == 0) pthread_setspecific(key, &key);
}

}  // namespace

JobThread::JobThread(const char* name, std::function<void()> while_waiting)
    : name_(name), while_waiting_(std::move(while_waiting)), state_(std::make_shared<State>()) {}

JobThread::~JobThread() {
  end();
}

/// Whether the thread is the parent's, or this one, which ends the process from within a job.
bool JobThread::is_out_of_reach() const {
  return thread_.joinable() && (process_ != ::getpid() || thread_.get_id() == std::this_thread::get_id());
}

template <class Done>
void JobThread::await(std::unique_lock<std::mutex>& lock, Done done) {
  while (!state_->news.wait_for(lock, std::chrono::milliseconds(500), [&] { return done() || state_->is_left; })) {
    lock.unlock();
    if (while_waiting_) while_waiting_();
    lock.lock();
  }
}

void JobThread::post(Job job, std::size_t weight) {
  if (is_out_of_reach()) return;
  if (!thread_.joinable() && !start()) return do_job(job);
  {
    std::unique_lock lock(state_->mutex);
    await(lock, [&] { return state_->queue.size() < most_jobs; });
    if (state_->is_left) return;
    state_->queue.push_back({std::move(job), weight});
    state_->weight += weight;
    ++not_done;
  }
  state_->wake.notify_one();
}

void JobThread::wait_for_less(std::size_t most) {
  if (is_out_of_reach()) return;
  std::unique_lock lock(state_->mutex);
  await(lock, [&] { return state_->weight < most; });
}

bool JobThread::wait() {
  if (is_out_of_reach()) return false;
  std::unique_lock lock(state_->mutex);
  await(lock, [&] { return state_->is_idle(); });
  return !state_->is_left;
}

bool JobThread::end() {
  if (!thread_.joinable()) return true;
  bool is_gone = is_out_of_reach();
  if (!is_gone) {
    std::unique_lock lock(state_->mutex);
    state_->is_ending = true;
    state_->wake.notify_one();
    await(lock, [&] { return state_->is_idle(); });
    is_gone = state_->is_left;
  }
  if (!is_gone) {
    thread_.join();
    state_->is_ending = false;
    return true;
  }
  leave_to_parent(std::make_shared<std::thread>(std::move(thread_)));
  leave_to_parent(std::exchange(state_, std::make_shared<State>()));
  return false;
}

bool JobThread::start() {
  count_anew_in_children();
  try {
    const ProgramSignalsHeld held;
    thread_ = std::thread([state = state_, name = name_] {
      detail::name_own_thread(name);
      is_job_thread = true;
      own_state = state.get();
      work(*state);
    });
    process_ = ::getpid();
  } catch (const std::system_error& reason) {
    if (!std::exchange(has_told_, true)) {
      log(LOUPE_LOG_WARNING, "training waits for the visualizers, because the system cannot start a thread for them: " +
                                 reason.code().message());
    }
  }
  return thread_.joinable();
}

void JobThread::work(State& state) {
  std::unique_lock lock(state.mutex);
  for (;;) {
    state.wake.wait(lock, [&] { return state.is_ending || !state.queue.empty(); });
    if (state.queue.empty()) return;
    State::Posted next = std::move(state.queue.front());
    state.queue.pop_front();
    state.is_busy = true;
    lock.unlock();
    const double busy_before = busy_time();
    try {
      do_job(next.job);
    } catch (const abi::__forced_unwind&) {
      leave_own();
      throw;
    }
    OwnTime::add(OwnTime::Of::reports, busy_time() - busy_before);
    next.job = nullptr;  // releases its data before waiting threads continue
    lock.lock();
    if (state.is_left) return;  // this thread was abandoned
    state.is_busy = false;
    state.weight -= next.weight;
    --not_done;
    state.news.notify_all();
  }
}

void JobThread::leave_own() {
  if (own_state == nullptr) return;
  State& state = *static_cast<State*>(std::exchange(own_state, nullptr));
  const std::lock_guard lock(state.mutex);
  state.is_left = true;
  not_done -= state.queue.size() + 1;
  state.news.notify_all();
}

bool JobThread::all_done(std::chrono::milliseconds patience) noexcept {
  if (is_job_thread) return not_done == 0;
  const int reason = errno;
  for (auto left = patience.count(); not_done != 0 && left > 0; --left) {
    const timespec pause{0, 1'000'000};
    ::nanosleep(&pause, nullptr);
  }
  errno = reason;
  return not_done == 0;
}

bool run_aside(const char* name, std::function<void()> work) noexcept try {
  const ProgramSignalsHeld held;
  std::thread([name, work = std::move(work)] {
    detail::name_own_thread(name);
    work();
  }).detach();
  return true;
} catch (...) {  // out of memory or of threads
  return false;
}

void end_with_last_thread() {
  is_wanted = true;
  watch_where_due();
}

void main_thread_ended() {
  main_has_ended = true;
  watch_where_due();
}

}  // namespace loupe
