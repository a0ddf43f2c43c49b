#include "plugins/running_component.h"

#include <signal.h>
#include <unistd.h>

#include <cstring>

namespace loupe {

thread_local constinit const char* RunningComponent::current_ = nullptr;

namespace {

constexpr int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

void write_text(const char* text) {
  // What cannot be written cannot be told either.
  if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
}

// Only what POSIX calls async-signal-safe. The default action follows: SA_RESETHAND has restored it.
void tell(int signal) {
  if (const char* speaker = RunningComponent::current()) {
    write_text("loupe: error: the process dies by a fault inside ");
    write_text(speaker);
    write_text("; take it out of the configuration to train on, and report it to its author\n");
  }
  ::raise(signal);
}

}  // namespace

void name_components_in_crashes() {
  static const bool once = [] {
    for (const int signal : signals) {
      struct sigaction before {};
      if (::sigaction(signal, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) continue;
      struct sigaction action {};
      action.sa_handler = &tell;
      action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_NODEFER | SA_ONSTACK;
      sigemptyset(&action.sa_mask);
      ::sigaction(signal, &action, nullptr);
    }
    return true;
  }();
  static_cast<void>(once);
}

}  // namespace loupe
