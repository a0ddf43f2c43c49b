#include "core/forks.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

namespace loupe {
namespace {

/// Forks and returns the exit code of the child, which is the result of `call`; 100 + N if signal N killed it.
template <class Call>
int in_child(Call&& call) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    ::_exit(call());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 100 + WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(ForksHeld, DelaysAForkUntilAnotherThreadHasFinishedItsWork) {
  std::atomic<bool> begins{false}, is_whole{false};
  std::thread beginner([&] {
    const ForksHeld held;
    begins = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    is_whole = true;
  });
  while (!begins) std::this_thread::yield();
  EXPECT_EQ(in_child([&] { return is_whole ? 0 : 1; }), 0);
  beginner.join();
}

TEST(ForksHeld, BlocksNeitherItsThreadNorItsChildren) {
  const ForksHeld outer;
  EXPECT_EQ(in_child([] {
              const ForksHeld inner;
              return in_child([] { return 7; });
            }),
            7);
}

TEST(ProcessMutex, IsFreeInAChildEvenIfOtherThreadsLockSeveralInAnyOrder) {
  auto& one = *new ProcessMutex();  // not destroyed, as children use it
  auto& two = *new ProcessMutex();
  std::atomic<bool> stop{false};
  const auto take = [&](ProcessMutex& first, ProcessMutex& second) {
    while (!stop) {
      { const std::lock_guard lock(first); }
      const std::lock_guard lock(second);
    }
  };
  std::thread forth([&] { take(one, two); }), back([&] { take(two, one); });
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(in_child([&] {
                const std::lock_guard lock(one);
                return 0;
              }),
              0);
  }
  stop = true;
  forth.join();
  back.join();
}

}  // namespace
}  // namespace loupe
