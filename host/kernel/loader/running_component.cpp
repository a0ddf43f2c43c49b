#include "loader/running_component.h"

#include <loupe/files/shared_output.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>

#include "core/last_words.h"

namespace loupe {

thread_local constinit const char* RunningComponent::current_ = nullptr;

namespace {

struct Fault {
  int signal;
  const char* name;
  struct sigaction before {};
};
Fault faults[] = {
    {SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"}, {SIGILL, "SIGILL"}, {SIGABRT, "SIGABRT"}};

void write_text(const char* text) {
  write_shared(STDERR_FILENO, text, std::strlen(text), 100);
}

// This uses only functions that POSIX calls async-signal-safe. An earlier handler of the program or of one of its
// libraries (UCX has one) runs next. If it lets the program go on, later lines in the record overrule the last words.
void tell(int signal, siginfo_t* info, void* context) {
  const Fault* fault = faults;
  while (fault->signal != signal) ++fault;
  LastWords::speak("failed", fault->name);
  if (const char* speaker = RunningComponent::current()) {
    write_text("loupe: error: a fault inside ");
    write_text(speaker);
    write_text("; remove it from the configuration to continue training, and report the fault to its author\n");
  }
  if ((fault->before.sa_flags & SA_SIGINFO) != 0) return fault->before.sa_sigaction(signal, info, context);
  if (fault->before.sa_handler != SIG_DFL) return fault->before.sa_handler(signal);
  ::sigaction(signal, &fault->before, nullptr);
  ::raise(signal);
}

}  // namespace

void name_components_in_crashes() {
  [[maybe_unused]] static const bool once = [] {
    for (Fault& fault : faults) {
      if (::sigaction(fault.signal, nullptr, &fault.before) != 0) continue;
      const bool takes_info = (fault.before.sa_flags & SA_SIGINFO) != 0;
      if (!takes_info && fault.before.sa_handler == SIG_IGN) continue;
      struct sigaction action = fault.before;
      action.sa_sigaction = &tell;
      action.sa_flags |= SA_SIGINFO | SA_ONSTACK;
      if (!takes_info && fault.before.sa_handler == SIG_DFL)
        action.sa_flags |= SA_NODEFER;  // else the signal of raise() is blocked while this handler runs
      ::sigaction(fault.signal, &action, nullptr);
    }
    return true;
  }();
}

}  // namespace loupe
