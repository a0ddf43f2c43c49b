#include "core/last_words.h"

#include <loupe/files/held_signals.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>

#include "core/threads.h"

namespace loupe {
namespace {

/// Kept in static memory: a signal handler must not follow pointers into a heap that may be damaged.
struct Speaker {
  std::atomic<bool> is_taken{false};
  std::atomic<LastWords::Speak> speak{nullptr};  // null until the other members are set
  std::atomic<void*> place{nullptr};
  std::atomic<const void*> run{nullptr};
  std::atomic<pid_t> process{0};  // a forked child keeps its parent's
  std::atomic<std::uint64_t> step{0};
};
Speaker speakers[16];

}  // namespace

void LastWords::add(const void* run, Speak speak, void* place) {
  for (Speaker& each : speakers) {
    if (each.is_taken.exchange(true)) continue;
    each.place = place;
    each.run = run;
    each.process = ::getpid();
    each.step = 0;
    each.speak = speak;
    return;
  }
}

void LastWords::remove(const void* place) {
  for (Speaker& each : speakers) {
    if (each.place != place || each.speak.exchange(nullptr) == nullptr) continue;
    each.is_taken = false;
    return;
  }
}

void LastWords::set_step(const void* run, std::uint64_t step) {
  for (Speaker& each : speakers) {
    if (each.run.load(std::memory_order_relaxed) == run) each.step.store(step, std::memory_order_relaxed);
  }
}

void LastWords::speak(const char* how, const char* message) noexcept {
  const FatalSignalsHeld held;
  const int reason = errno;
  JobThread::all_done(std::chrono::seconds(2));  // last words come after all messages
  for (Speaker& each : speakers) {
    const Speak speak = each.speak;
    if (speak != nullptr && each.process == ::getpid()) speak(each.place, how, message, each.step);
  }
  errno = reason;
}

}  // namespace loupe
