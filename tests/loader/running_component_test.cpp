// A crash is told with the name of the component that ran.

#include "loader/running_component.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include "loader/component_instance.h"

namespace loupe {
namespace {

TEST(RunningComponentDeathTest, IsNamedInACrash) {
  EXPECT_DEATH(
      {
        name_components_in_crashes();
        const RunningComponent running("the lens 'x'");
        std::abort();
      },
      "a fault inside the lens 'x'");
}

TEST(RunningComponentDeathTest, IsNamedInACrashOfAThreadOfItsOwnThatHasAskedTheHostForSomething) {
  EXPECT_DEATH(
      {
        name_components_in_crashes();
        const ComponentHost host("the visualizer 'x'", nullptr);
        std::thread([&] {
          host.get()->get_extension(host.get()->context, LOUPE_RUN_ID);
          std::abort();
        }).join();
      },
      "a fault inside the visualizer 'x'");
}

TEST(RunningComponentDeathTest, IsNotNamedInACrashAfterItHasRun) {
  EXPECT_DEATH(
      {
        name_components_in_crashes();
        {
          const RunningComponent running("the lens 'x'");
          const ComponentHost host("the lens 'x'", nullptr);
          host.get()->get_extension(host.get()->context, LOUPE_RUN_ID);
        }
        std::abort();
      },
      "^$");
}

/// What a child that crashes writes to its terminal.
std::string written_by_crash(bool shows_progress) {
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    name_components_in_crashes();
    if (shows_progress) note_shown_progress();
    std::raise(SIGSEGV);
  }
  std::string text;
  char buffer[256];
  for (ssize_t count = 0; (count = read(terminal, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(count));
  close(terminal);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << status;
  return text;
}

TEST(FatalSignal, GivesTheLastRowsOfATerminalBackWhereProgressWasShown) {
  const std::string all_rows_scroll = "\x1b[r";
  EXPECT_NE(written_by_crash(true).find(all_rows_scroll), std::string::npos);
  EXPECT_EQ(written_by_crash(false), "");
}

}  // namespace
}  // namespace loupe
