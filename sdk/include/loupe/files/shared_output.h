#pragma once

// Needs only C's library, because code that is preloaded into any program includes it too.

#include <loupe/files/held_signals.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

namespace loupe {
inline namespace v1_0 {

/// How long a write waits for a reader of an output that takes nothing, in milliseconds.
constexpr int output_patience_ms = 5000;

namespace detail {

/// The same pipe or terminal, opened again so that no write waits; -1 if the system refuses.
inline int open_without_waiting(int descriptor) {
  char path[32] = "/proc/self/fd/";
  char* end = path + sizeof "/proc/self/fd/" - 1;
  int power = 1;
  while (descriptor / power >= 10) power *= 10;
  for (; power > 0; power /= 10) *end++ = static_cast<char>('0' + descriptor / power % 10);
  *end = '\0';
  return ::open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

inline long long monotonic_ms() {
  timespec now{0, 0};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

}  // namespace detail

/// Writes to an output that the program shares with other processes, for example standard error. Never waits for a
/// reader that takes nothing for `patience_ms`, and does not set O_NONBLOCK, which would affect all of them. Returns
/// the number of bytes written; if fewer than `size`, errno has the reason: EAGAIN if nobody reads. Safe in a signal
/// handler.
inline size_t write_shared(int descriptor, const char* text, size_t size, int patience_ms = output_patience_ms) {
  const FatalSignalsHeld held;
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return 0;
  const bool is_socket = S_ISSOCK(status.st_mode);
  const bool may_wait = S_ISFIFO(status.st_mode) || (S_ISCHR(status.st_mode) && ::isatty(descriptor) == 1);
  const int own = may_wait ? detail::open_without_waiting(descriptor) : -1;
  const auto write_some = [&](const char* from, size_t left) -> ssize_t {
    if (is_socket) return ::send(descriptor, from, left, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (own >= 0 || !may_wait) return ::write(own >= 0 ? own : descriptor, from, left);
    // It belongs to another user, or there is no /proc: a ready pipe takes this much at once, and so does a terminal
    // nearly always.
    pollfd ready{descriptor, POLLOUT, 0};
    return ::poll(&ready, 1, 0) > 0 ? ::write(descriptor, from, left < PIPE_BUF ? left : PIPE_BUF) : -1;
  };
  size_t done = 0;
  for (long long since_ms = detail::monotonic_ms(); done < size;) {
    errno = EAGAIN;
    const ssize_t written = write_some(text + done, size - done);
    if (written > 0) {
      done += static_cast<size_t>(written);
      since_ms = detail::monotonic_ms();
      continue;
    }
    const bool may_come = errno == EAGAIN || errno == EINTR;
    if (!may_come || detail::monotonic_ms() - since_ms >= patience_ms) break;
    const timespec pause{0, 1000000};
    ::nanosleep(&pause, nullptr);
  }
  if (own >= 0) {
    const int reason = errno;
    ::close(own);
    errno = reason;
  }
  return done;
}

}  // namespace v1_0
}  // namespace loupe
