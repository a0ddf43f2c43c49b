#include "ranks/rank_processes.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "child_process.h"
#include "core/run_folder.h"

namespace loupe {
namespace {

TEST(ProcessState, IsTheStateOfTheProcess) {
  test::ChildProcess child({"sleep", "1000"}, {});
  EXPECT_EQ(state_of_process(child.number()), ProcessState::running);
  child.stop();
  EXPECT_EQ(state_of_process(child.number()), ProcessState::stopped);
  child.kill();
  EXPECT_EQ(state_of_process(child.number()), ProcessState::gone) << "even before its parent has waited for it";
  child.wait();
  EXPECT_EQ(state_of_process(child.number()), ProcessState::gone);
}

TEST(WaitsForProcessor, IsTrueForAThreadWithWorkAndFalseForASleepingThread) {
  std::atomic<bool> works{true}, sleeps{true};
  std::atomic<int> working{0}, sleeping{0};
  std::thread worker([&] {
    working = static_cast<int>(::syscall(SYS_gettid));
    while (works) {
    }
  });
  std::thread sleeper([&] {
    sleeping = static_cast<int>(::syscall(SYS_gettid));
    sleeps.wait(true);
  });
  while (working == 0 || sleeping == 0) std::this_thread::yield();
  EXPECT_TRUE(waits_for_processor(working));
  while (waits_for_processor(sleeping))
    std::this_thread::yield();  // until the thread sleeps; the test hangs if it never does
  works = sleeps = false;
  sleeps.notify_all();
  worker.join();
  sleeper.join();
  EXPECT_FALSE(waits_for_processor(0)) << "no thread has this number";
}

TEST(WaitsForProcessor, IgnoresThreadsThatEndMeanwhile) {
  for (int i = 0; i < 2000; ++i) {
    std::atomic<int> number{0};
    std::thread brief([&] { number = static_cast<int>(::syscall(SYS_gettid)); });
    while (number == 0) std::this_thread::yield();
    for (int look = 0; look < 5; ++look) EXPECT_NO_THROW(waits_for_processor(number));
    brief.join();
  }
}

TEST(RunningRanks, AreThoseOfTheSameJob) {
  const std::string job = "TORCHELASTIC_RUN_ID=job-" + std::to_string(::getpid());
  test::ChildProcess second({"sleep", "1000"}, {"RANK=2", "WORLD_SIZE=4", job});
  test::ChildProcess of_other_size({"sleep", "1000"}, {"RANK=1", "WORLD_SIZE=5", job});
  test::ChildProcess of_other_job({"sleep", "1000"}, {"RANK=1", "WORLD_SIZE=4", job + "x"});
  test::ChildProcess stopped({"sleep", "1000"}, {"RANK=3", "WORLD_SIZE=4", job});
  stopped.stop();
  const auto variable = [&](const char* name) -> const char* {
    const std::string text = name;
    return text == "RANK"                                 ? "0"
           : text == "WORLD_SIZE"                         ? "4"
           : text + "=" == job.substr(0, text.size() + 1) ? job.c_str() + text.size() + 1
                                                          : nullptr;
  };
  EXPECT_EQ(running_ranks_of(Job::from(variable, ::getsid(0))), std::set<int>{2});
}

TEST(RankProcesses, ReportTheStateOfRanksOnThisMachine) {
  using Presence = RankProcesses::Presence;
  RankProcesses processes;
  EXPECT_EQ(processes.presence_of(1), Presence::unseen);
  processes.add(1, RunHolder::this_process().text());
  EXPECT_EQ(processes.presence_of(1), Presence::running);
  EXPECT_EQ(processes.process_of(1), ::getpid());
  processes.add(1, std::to_string(::getpid()) + " far another-machine\n");
  EXPECT_EQ(processes.presence_of(1), Presence::elsewhere);
  processes.add(2, "no holder");
  EXPECT_EQ(processes.presence_of(2), Presence::elsewhere);
  test::ChildProcess child({"sleep", "1000"}, {});
  RunHolder holder = RunHolder::this_process();
  holder.process = child.number();
  processes.add(1, holder.text());
  child.kill();
  EXPECT_EQ(processes.presence_of(1), Presence::gone);
}

}  // namespace
}  // namespace loupe
