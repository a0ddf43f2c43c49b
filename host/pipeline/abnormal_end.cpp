#include "pipeline/abnormal_end.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

namespace loupe {
namespace {

struct Listener {
  const AbnormalEnd::Tell* tell;
  pid_t process;  // a forked child has the parent's, and its end is not theirs
};

std::mutex listeners_mutex;
std::vector<Listener> listeners;
std::atomic<pid_t> last_process{0};  // of the last listener
std::terminate_handler terminate_before = nullptr;
struct sigaction signal_before {};
bool watches_signal = false;
std::atomic<bool> signal_waits{false};

bool is_default(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL;
}
bool is_ignored(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_IGN;
}

void tell_all(const std::string& how, const std::string& why) {
  // The thread that holds it may be the one that ends here.
  const std::unique_lock lock(listeners_mutex, std::try_to_lock);
  if (!lock) return;
  for (const Listener& each : listeners) {
    if (each.process == ::getpid()) (*each.tell)(how, why);
  }
}

[[noreturn]] void on_terminate() {
  static std::atomic<bool> entered{false};
  if (entered.exchange(true)) std::abort();  // a handler over ours calls it, and is called by it
  std::string why;
  try {
    if (const std::exception_ptr current = std::current_exception()) std::rethrow_exception(current);
  } catch (const std::exception& e) {
    why = e.what();
  } catch (...) {
    why = "an exception that is no std::exception";
  }
  tell_all("terminate", why);
  if (terminate_before != nullptr) terminate_before();
  std::abort();
}

// Only what is safe in a signal handler: a lock-free flag, getpid, sigaction and raise.
void on_signal(int number, siginfo_t* info, void* context) {
  static std::atomic<bool> inside{false};
  if (inside.exchange(true)) return;  // by a handler over ours, which ours calls
  // A forked child where nobody listens ends at once, as it would without us.
  const bool again = last_process.load() != ::getpid() || signal_waits.exchange(true);
  if ((signal_before.sa_flags & SA_SIGINFO) != 0) {
    signal_before.sa_sigaction(number, info, context);
  } else if (signal_before.sa_handler != SIG_DFL) {
    signal_before.sa_handler(number);
  } else if (again) {  // a program that takes no step any more can still be ended
    ::sigaction(number, &signal_before, nullptr);
    ::raise(number);
  }
  inside = false;
}

bool is_ours(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == &on_signal;
}

void watch() {
  if (std::get_terminate() != &on_terminate) terminate_before = std::set_terminate(&on_terminate);
  struct sigaction now {};
  ::sigaction(SIGTERM, nullptr, &now);
  if (is_ignored(now) || is_ours(now)) return;
  signal_before = now;
  struct sigaction ours {};
  ours.sa_sigaction = &on_signal;
  ours.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigemptyset(&ours.sa_mask);
  watches_signal = ::sigaction(SIGTERM, &ours, nullptr) == 0;
}

/// A handler that somebody has put over ours goes on to call it, and so ours stays.
void unwatch() {
  if (std::get_terminate() == &on_terminate) std::set_terminate(terminate_before);
  struct sigaction now {};
  ::sigaction(SIGTERM, nullptr, &now);
  if (watches_signal && is_ours(now)) ::sigaction(SIGTERM, &signal_before, nullptr);
}

void end_by_signal() {
  if (!is_default(signal_before)) return;
  ::sigaction(SIGTERM, &signal_before, nullptr);
  ::raise(SIGTERM);
}

}  // namespace

AbnormalEnd::AbnormalEnd(Tell tell) : tell_(std::move(tell)) {
  const std::lock_guard lock(listeners_mutex);
  if (listeners.empty()) watch();
  listeners.push_back({&tell_, ::getpid()});
  last_process = ::getpid();
}

AbnormalEnd::~AbnormalEnd() {
  const std::lock_guard lock(listeners_mutex);
  // In a forked child those of the parent may never be destroyed.
  const auto is_gone = [&](const Listener& each) { return each.tell == &tell_ || each.process != ::getpid(); };
  listeners.erase(std::remove_if(listeners.begin(), listeners.end(), is_gone), listeners.end());
  if (!listeners.empty()) return;
  unwatch();
  if (signal_waits.exchange(false)) end_by_signal();
}

bool AbnormalEnd::signal_came() {
  return signal_waits.load(std::memory_order_relaxed);
}

void AbnormalEnd::act_on_signal() {
  if (!signal_came() || !signal_waits.exchange(false)) return;
  tell_all("SIGTERM", "");
  end_by_signal();
}

}  // namespace loupe
