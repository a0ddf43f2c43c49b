#pragma once

// Needs only C's library, because code that is preloaded into any program includes it too.

#include <errno.h>
#include <signal.h>
#include <time.h>

namespace loupe {
inline namespace v1_0 {

/// While it lives, a write to a closed pipe or past a size limit fails in this thread instead of killing the process.
/// The signal that such a write raised is discarded at the end; the program's own handlers and its own writes are
/// untouched. For code that runs inside another program. Safe in a signal handler.
class FatalSignalsHeld {
 public:
  FatalSignalsHeld() {
    sigset_t pending;
    sigemptyset(&held_);
    sigpending(&pending);
    const int fatal[] = {SIGPIPE, SIGXFSZ};
    for (const int signal : fatal) {
      // Leave a signal that was pending before: the program raised it.
      if (sigismember(&pending, signal) == 0) sigaddset(&held_, signal);
    }
    pthread_sigmask(SIG_BLOCK, &held_, &before_);
  }
  ~FatalSignalsHeld() {
    const timespec now{0, 0};
    const int reason = errno;
    while (sigtimedwait(&held_, nullptr, &now) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = reason;
  }
  FatalSignalsHeld(const FatalSignalsHeld&) = delete;
  FatalSignalsHeld& operator=(const FatalSignalsHeld&) = delete;

 private:
  sigset_t held_, before_;
};

}  // namespace v1_0
}  // namespace loupe
