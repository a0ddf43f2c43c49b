#include "core/threads.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

#include "says.h"
#include "stage.h"

namespace loupe {
namespace {

using std::chrono::milliseconds;

/// A job that waits until the test releases it.
struct Held {
  void operator()() const {
    while (!let_go) std::this_thread::yield();
  }
  std::atomic<bool>& let_go;
};

TEST(JobThread, DoesJobsInTheirOrderOnOneSeparateThread) {
  std::vector<int> done;
  std::vector<std::thread::id> threads;
  JobThread thread("test");
  for (int i = 0; i < 1000; ++i) {
    thread.post([&, i] {
      done.push_back(i);
      threads.push_back(std::this_thread::get_id());
    });
  }
  EXPECT_TRUE(thread.wait());
  ASSERT_EQ(done.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(done[static_cast<std::size_t>(i)], i);
  for (const auto& each : threads) EXPECT_EQ(each, threads[0]);
  EXPECT_NE(threads[0], std::this_thread::get_id());
}

TEST(JobThread, ContinuesAfterAJobThatThrowsAndReportsIt) {
  const Stage stage;
  JobThread thread("test");
  bool is_done = false;
  thread.post([] { throw std::runtime_error("because"); });
  thread.post([&] { is_done = true; });
  EXPECT_TRUE(thread.wait());
  EXPECT_TRUE(is_done);
  EXPECT_SAYS(only(stage.take_messages()), "because");
}

/// While this object lives, no thread can start, as there is no room for its stack.
struct NoThreads {
  NoThreads() {
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, std::size_t{1} << 47);
    pthread_getattr_default_np(&before);
    pthread_setattr_default_np(&huge);
    pthread_attr_destroy(&huge);
  }
  ~NoThreads() {
    pthread_setattr_default_np(&before);
    pthread_attr_destroy(&before);
  }
  pthread_attr_t before;
};

TEST(JobThread, DoesJobsOnTheCallersThreadIfNoThreadCanStartAndReportsItOnce) {
  const Stage stage;
  std::vector<std::thread::id> threads;
  JobThread thread("test");
  {
    const NoThreads none;
    for (int i = 0; i < 2; ++i) thread.post([&] { threads.push_back(std::this_thread::get_id()); }, 1);
    EXPECT_TRUE(thread.end());
  }
  EXPECT_EQ(threads, std::vector<std::thread::id>(2, std::this_thread::get_id()));
  EXPECT_SAYS(only(stage.take_messages()), "the system cannot start a thread");
  thread.post([&] { threads.push_back(std::this_thread::get_id()); });
  EXPECT_TRUE(thread.end());
  ASSERT_EQ(threads.size(), 3u);
  EXPECT_NE(threads[2], threads[0]);
}

TEST(JobThread, DoesTheRemainingJobsWhenItEndsAndCanStartAgain) {
  std::atomic<int> done{0};
  JobThread thread("test");
  for (int turn = 1; turn <= 2; ++turn) {
    for (int i = 0; i < 100; ++i) thread.post([&] { ++done; });
    EXPECT_TRUE(thread.end());
    EXPECT_EQ(done, 100 * turn);
  }
  EXPECT_TRUE(thread.end());
}

TEST(JobThread, CanWaitForAWeightOfJobs) {
  std::atomic<bool> let_go{false};
  JobThread thread("test");
  thread.post(Held{let_go}, 1);
  for (int i = 0; i < 100; ++i) thread.post([] {});
  thread.wait_for_less(2);  // would hang if it waited for all jobs
  std::atomic<bool> is_over{false};
  std::thread waiting([&] {
    thread.wait_for_less(1);
    is_over = true;
  });
  EXPECT_FALSE(JobThread::all_done(milliseconds(20)));
  EXPECT_FALSE(is_over);
  let_go = true;
  waiting.join();
  EXPECT_TRUE(thread.wait());
  EXPECT_TRUE(JobThread::all_done(milliseconds(0)));
}

TEST(JobThread, OfAParentDoesNotDelayAChild) {
  std::atomic<bool> let_go{false};
  JobThread thread("test");
  thread.post(Held{let_go});
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    thread.post([] { std::abort(); });
    const bool waits = thread.wait() || !JobThread::all_done(milliseconds(0)) || thread.end();
    ::_exit(waits ? 1 : 7);
  }
  let_go = true;
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_TRUE(thread.wait());
}

TEST(JobThreadDeathTest, ThatEndsTheProcessIsNotWaitedFor) {
  const auto end = [] {
    ::alarm(60);
    JobThread thread("test");
    thread.post([] {
      JobThread::leave_own();
      for (;;) ::pause();
    });
    thread.post([] { std::abort(); });
    const bool waits = thread.wait() || !JobThread::all_done(milliseconds(0)) || thread.end();
    thread.post([] {});  // starts a new thread
    std::_Exit(!waits && thread.end() ? 7 : 1);
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(7), "");
}

TEST(JobThreadDeathTest, ThatAJobExitsIsNotWaitedFor) {
  const auto end = [] {
    ::alarm(60);
    JobThread thread("test");
    thread.post([] { ::pthread_exit(nullptr); });
    thread.post([] { std::abort(); });
    const bool waits = thread.wait() || !JobThread::all_done(milliseconds(0)) || thread.end();
    std::_Exit(waits ? 1 : 7);
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace loupe
