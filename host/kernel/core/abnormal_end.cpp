#include "core/abnormal_end.h"

#include <loupe/files/shared_output.h>
#include <semaphore.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/forks.h"
#include "core/last_words.h"
#include "core/locks.h"
#include "core/log.h"
#include "core/part.h"
#include "core/threads.h"

namespace loupe {
namespace {

using std::chrono::milliseconds;

using Clock = std::chrono::steady_clock;

constexpr milliseconds patience(5000), until_next_step(2000);

struct Listener {
  const AbnormalEnd::Tell* tell;
  pid_t process;  // ignored in a forked child
};

// Outside of the lock order: taken while an inspector's mutex is held, and held while listeners take theirs, for which
// they wait a limited time (lock_soon). A forked child begins with a free one.
std::mutex listeners_mutex;
auto& listeners = *new std::vector<Listener>();  // static objects may hold inspectors
std::atomic<pid_t> last_process{0};              // process of the last listener
std::atomic<std::terminate_handler> terminate_first{nullptr}, terminate_before{nullptr};
std::atomic<int> waiting_signal{0};
std::atomic<bool> ends_at_next_step{false};  // a signal came that the program does not handle

/// A thread that ends a program without a next step, while anything is watched. It is never freed, as a handler may
/// still read it.
struct SignalThread {
  sem_t came;  // wakes it
  std::atomic<bool> ends{false};
  SignalThread* before;
};
std::atomic<SignalThread*> signal_thread{nullptr};
std::atomic<SignalThread*> signal_threads{nullptr};  // all threads ever started

struct WatchedSignal {
  int number;
  const char* name;
  struct sigaction before {};
  bool is_watched = false;
  std::atomic<bool> inside{false};
};
WatchedSignal watched_signals[] = {{SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"}};

WatchedSignal& watched(int number) {
  return number == SIGINT ? watched_signals[1] : watched_signals[0];
}
bool is_default(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL;
}
bool is_ignored(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_IGN;
}

void tell_all(const ProcessEnd& end) {
  const auto lock = lock_soon(listeners_mutex);
  if (!lock) return;
  for (const Listener& each : listeners) {
    if (each.process == ::getpid()) (*each.tell)(end);
  }
}

thread_local bool is_teller = false;
std::atomic<bool> is_telling{false}, has_told{false};
std::atomic<Clock::time_point> told_until{Clock::time_point()};  // the time at which waiting threads give up

/// The reporting thread never ends: as the last thread of the process it would end it a second time.
[[noreturn]] void rest() {
  has_told = true;
  for (;;) ::pause();
}

bool wait_for_teller() {
  const Clock::time_point longest = Clock::now() + patience;  // another thread may begin at any moment
  const auto limit = [&] { return told_until.load() != Clock::time_point() ? told_until.load() : longest; };
  while (!has_told && Clock::now() < limit()) std::this_thread::sleep_for(milliseconds(1));
  return has_told;
}

/// Reports on another thread, since this one may hold any lock. All callers for the same end wait a few seconds
/// together.
void tell_aside(ProcessEnd end) try {
  if (last_process.load() != ::getpid()) return;  // a forked child, which has no listeners
  if (is_telling.exchange(true)) return static_cast<void>(wait_for_teller());
  told_until = Clock::now() + patience;
  has_told = false;
  const bool tells = run_aside("ending", [end = std::move(end)] {
    is_teller = true;
    try {
      const LogToStderr past_the_sink;
      tell_all(end);
    } catch (...) {  // out of memory
    }
    rest();
  });
  if (!tells || wait_for_teller()) is_telling = false;
} catch (...) {  // out of memory
  is_telling = false;
}

void tell_of_exception() noexcept {
  char why[512] = "";
  const auto set = [&](const char* text) {
    if (text == nullptr) return;
    const std::string_view whole(text);
    whole.substr(0, sizeof why - 1).copy(why, sizeof why - 1);
  };
  try {
    if (const std::exception_ptr current = std::current_exception()) std::rethrow_exception(current);
  } catch (const std::exception& e) {
    set(e.what());
  } catch (...) {
    set("an exception that is not a std::exception");
  }
  open_no_more_parts();
  try {
    tell_aside({"terminate", why, true});
  } catch (...) {  // no memory for three short texts
  }
  LastWords::speak("failed", *why != '\0' ? why : "std::terminate was called");
}

[[noreturn]] void on_terminate() {
  if (is_teller) rest();  // a failure in the reporting thread must not end the program; the waiting thread does that
  static std::atomic<bool> entered{false};
  static thread_local bool inside = false;
  const bool again = std::exchange(inside, true);  // a later handler may call ours, which then calls it
  if (!entered.exchange(true)) {
    JobThread::leave_own();
    tell_of_exception();
  } else if (!again) {
    wait_for_teller();
  }
  const std::terminate_handler next = (again ? terminate_first : terminate_before).load();
  if (next != nullptr) next();
  std::abort();
}

void on_exit() {
  if (last_process.load() != ::getpid()) return;
  {
    const auto lock = lock_soon(listeners_mutex);
    const auto is_here = [](const Listener& each) { return each.process == ::getpid(); };
    if (lock && std::none_of(listeners.begin(), listeners.end(), is_here)) return;
  }
  if (is_teller) return;
  JobThread::leave_own();
  tell_aside({"exit", "", true});
}

void say(const char* begin, const char* name, const char* rest) {
  for (const char* text : {begin, name, rest}) write_shared(STDERR_FILENO, text, std::strlen(text), 0);
}

// Uses only calls that are safe in a signal handler, like getpid, write and sem_post; lock-free flags; last words.
void on_signal(int number, siginfo_t* info, void* context) {
  WatchedSignal& signal = watched(number);
  if (signal.inside.exchange(true)) return;                      // called by a later handler, which ours called
  const bool has_listeners = last_process.load() == ::getpid();  // a forked child may have none
  if (has_listeners) waiting_signal = number;
  if ((signal.before.sa_flags & SA_SIGINFO) != 0) {
    signal.before.sa_sigaction(number, info, context);
  } else if (signal.before.sa_handler != SIG_DFL) {
    signal.before.sa_handler(number);
  } else if (has_listeners && !ends_at_next_step.exchange(true)) {
    if (SignalThread* const thread = signal_thread) ::sem_post(&thread->came);
    say("loupe: ", signal.name,
        ": the run ends at its next step, or in two seconds if there is none; a second signal ends it at once\n");
  } else {
    LastWords::speak("interrupted", signal.name);
    ::sigaction(number, &signal.before, nullptr);
    ::raise(number);
  }
  signal.inside = false;
}

bool is_ours(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == &on_signal;
}

void watch(WatchedSignal& signal) {
  struct sigaction now {};
  ::sigaction(signal.number, nullptr, &now);
  if (is_ignored(now) || is_ours(now)) return;
  signal.before = now;
  struct sigaction ours {};
  ours.sa_sigaction = &on_signal;
  ours.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigemptyset(&ours.sa_mask);
  signal.is_watched = ::sigaction(signal.number, &ours, nullptr) == 0;
}

void watch() {
  if (std::get_terminate() != &on_terminate) {
    terminate_before = std::set_terminate(&on_terminate);
    std::terminate_handler none = nullptr;
    terminate_first.compare_exchange_strong(none, terminate_before);
  }
  for (WatchedSignal& each : watched_signals) watch(each);
}

/// Does not remove our handler if a later handler may still call it.
void unwatch() {
  if (std::get_terminate() == &on_terminate) std::set_terminate(terminate_before);
  for (WatchedSignal& each : watched_signals) {
    struct sigaction now {};
    ::sigaction(each.number, nullptr, &now);
    if (each.is_watched && is_ours(now)) ::sigaction(each.number, &each.before, nullptr);
  }
}

void end_by_signal(int number) {
  const WatchedSignal& signal = watched(number);
  if (!is_default(signal.before)) return;
  ::sigaction(number, &signal.before, nullptr);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);  // the signal was sent to another thread
  ::raise(number);
}

/// Ends a program that takes no further step: it evaluates, waits for data, or has ended its main thread.
void end_without_step(SignalThread& own) {
  for (;;) {
    while (::sem_wait(&own.came) != 0) {
    }
    if (own.ends) return;
    std::this_thread::sleep_for(until_next_step);
    int number = waiting_signal;
    if (number == 0 || !is_default(watched(number).before)) continue;
    if (!waiting_signal.compare_exchange_strong(number, 0)) continue;
    tell_aside({watched(number).name, "", true});
    LastWords::speak("interrupted", watched(number).name);
    end_by_signal(number);
  }
}

/// Drops a forked child's inherited state, which a thread of the parent may have been changing.
void leave_parent() {
  new (&listeners_mutex) std::mutex();
  new (&listeners) std::vector<Listener>();
  is_telling = has_told = ends_at_next_step = false;
  waiting_signal = 0;
  signal_thread = nullptr;
}

/// Call it under listeners_mutex.
void await_signals() {
  if (signal_thread != nullptr) return;
  auto* const made = new SignalThread();
  made->before = signal_threads.exchange(made);
  ::sem_init(&made->came, 0, 0);
  run_aside("signals", [made] { end_without_step(*made); });
  signal_thread = made;
}

void await_no_signals() {
  SignalThread* const thread = signal_thread.exchange(nullptr);
  if (thread == nullptr) return;
  thread->ends = true;
  ::sem_post(&thread->came);
}

}  // namespace

AbnormalEnd::AbnormalEnd(Tell tell) : tell_(std::move(tell)) {
  end_with_last_thread();
  [[maybe_unused]] static const bool once = (at_fork(&leave_parent), true);
  const std::lock_guard lock(listeners_mutex);
  await_signals();
  if (listeners.empty()) watch();
  listeners.push_back({&tell_, ::getpid()});
  last_process = ::getpid();
}

AbnormalEnd::~AbnormalEnd() {
  const std::lock_guard lock(listeners_mutex);
  // This also removes listeners of the parent, which a forked child may never destroy.
  const auto is_gone = [&](const Listener& each) { return each.tell == &tell_ || each.process != ::getpid(); };
  std::erase_if(listeners, is_gone);
  if (!listeners.empty()) return;
  unwatch();
  await_no_signals();
  if (const int number = waiting_signal.exchange(0)) end_by_signal(number);
}

void AbnormalEnd::come_before_statics() {
  std::atexit(&on_exit);
  std::at_quick_exit(&on_exit);
}

void AbnormalEnd::act_on_signal() {
  if (waiting_signal.load(std::memory_order_relaxed) == 0) return;
  const int number = waiting_signal.exchange(0);
  if (number == 0) return;
  const WatchedSignal& signal = watched(number);
  tell_all({signal.name, "", is_default(signal.before)});
  if (is_default(signal.before)) LastWords::speak("interrupted", signal.name);  // for runs that could not be informed
  end_by_signal(number);
}

}  // namespace loupe
