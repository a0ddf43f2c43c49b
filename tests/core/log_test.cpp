#include "core/log.h"

#include <gtest/gtest.h>
#include <loupe/abi.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <thread>

namespace loupe {
namespace {

TEST(Log, ShowsNoNameThatWouldSteerTheTerminal) {
  testing::internal::CaptureStderr();
  log(LOUPE_LOG_WARNING, "the module '\x1b[2J\xe9' is not seen");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "loupe: warning: the module '?[2J\xEF\xBF\xBD' is not seen\n");
}

void give_stderr_no_reader() {
  int ends[2];
  if (::pipe(ends) != 0 || ::dup2(ends[1], STDERR_FILENO) < 0) std::abort();
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(LogDeathTest, OnAStderrThatNobodyReadsNeitherKillsNorSpoilsTheProgramsStream) {
  const auto tell = [] {
    give_stderr_no_reader();
    log(LOUPE_LOG_WARNING, "nobody hears this");
    std::_Exit(std::cerr.good() ? 0 : 1);
  };
  EXPECT_EXIT(tell(), testing::ExitedWithCode(0), "");
}

TEST(Log, ToStderrWaitsForNoSinkThatIsAtWork) {
  std::mutex held;
  const LogSink before = set_log_sink([&](int, const std::string&) { const std::lock_guard wait(held); });
  std::string told;
  std::thread speaker;
  {
    const std::lock_guard hold(held);
    speaker = std::thread([] { log(LOUPE_LOG_INFO, "waits"); });
    const LogToStderr past_the_sink;
    testing::internal::CaptureStderr();
    log(LOUPE_LOG_ERROR, "does not wait");
    told = testing::internal::GetCapturedStderr();
  }
  speaker.join();
  EXPECT_EQ(told, "loupe: error: does not wait\n");
  set_log_sink(before);
}

}  // namespace
}  // namespace loupe
