// How the console behaves for different readers at the other end of its stream.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>

#include "console_output.h"
#include "paths.h"
#include "screen.h"

namespace loupe::test {
namespace {

TEST(Console, ComesAfterWhatTheProgramPrinted) {
  const std::string text = printed([](Driver& console) {
    fputs("before\n", stdout);
    one_tick(console, "T", {{"l", 1}});
    fputs("after\n", stdout);
  });
  EXPECT_EQ(text.rfind("before\n──", 0), 0u);
  EXPECT_EQ(text.substr(text.size() - 7), "\nafter\n");
}

TEST(Console, WritesToStandardErrorWhenAsked) {
  const auto tick = [](Driver& console) { one_tick(console, "T", {{"l", 1}}); };
  std::string output;
  const std::string errors = printed([&](Driver& console) { output = printed([&](Driver&) { tick(console); }); },
                                     {{"to", "stderr"}}, nullptr, stderr);
  EXPECT_EQ(output, "");
  EXPECT_TRUE(holds(errors, "epoch 1"));
}

void bad_tick(Driver& console) {
  console.progress(1, 2, 5, 0, 1);
  one_tick(console, "T", {{"l", NAN}});
}

TEST(Console, IsPlainAndQuietWithoutATerminal) {
  const std::string text = printed(bad_tick);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_FALSE(holds(text, "step"));
  EXPECT_TRUE(holds(text, "epoch 1 of 2"));
  EXPECT_TRUE(holds(printed(bad_tick, {{"color", "always"}}), "\x1b[31;1m      NaN\x1b[0m"));
}

TEST(Console, ColorsBySeverityOnATerminal) {
  const Environment unset("NO_COLOR", nullptr);
  const auto tick = [](Driver& console) {
    console.tag("A", LOUPE_SCALE_PROBABILITY);
    console.begin_tick(1);
    for (const auto& [layer, rate] : {std::pair("dead", 0.6), {"dying", 0.3}, {"fine", 0.1}}) {
      console.value("A", layer, "death_rate", rate);
    }
    console.end_tick();
  };
  const std::string text = printed_on_terminal(tick);
  EXPECT_TRUE(holds(text, "\x1b[31;1m    0.6000\x1b[0m"));
  EXPECT_TRUE(holds(text, "\x1b[33m    0.3000\x1b[0m"));
  EXPECT_TRUE(holds(text, "      0.1000\n"));
  EXPECT_EQ(printed_on_terminal(tick, {{"color", "never"}}).find('\x1b'), std::string::npos);
  const Environment no_color("NO_COLOR", "1");
  EXPECT_EQ(printed_on_terminal(tick).find('\x1b'), std::string::npos);
}

TEST(Console, NoticesANumberThatGrewTenfold) {
  const std::string text = printed(
      [](Driver& console) {
        for (const double norm : {1.0, 9.0, 99.0, 1e6}) one_tick(console, "T", {{"l", norm}});
      },
      {{"color", "always"}});
  EXPECT_FALSE(holds(text, "\x1b[33m        9"));
  EXPECT_TRUE(holds(text, "\x1b[33m       99\x1b[0m"));
  EXPECT_TRUE(holds(text, "\x1b[31;1m1.000e+06\x1b[0m"));
}

TEST(Console, AsksTheTerminalForItsWidth) {
  const Environment no_color("NO_COLOR", "1");
  const auto tick = [](Driver& console) { one_tick(console, "T", {{"l", 1}}); };
  for (const unsigned short columns : {45, 90}) {
    EXPECT_EQ(columns_of(lines_of(printed_on_terminal(tick, {}, columns))[0]), columns);
  }
}

TEST(Console, KeepsALineOfProgressInTheLastRowAndClearsItAtTheEnd) {
  const Environment no_color("NO_COLOR", "1");
  const auto shown_after = [](const std::function<void(Driver&)>& run, const std::vector<Item>& options = {}) {
    Screen screen(24, 100);
    screen.write(printed_on_terminal(run, options, 100));
    return screen.shown();
  };
  const auto train = [](Driver& console) {
    console.progress(1, 3, 10, 0, 2);
    console.progress(2, 3, 50, 100, 20);
    one_tick(console, "T", {{"l", 1}});
  };
  const std::vector<std::string> rows = shown_after(train);
  ASSERT_EQ(rows.size(), 24u);
  EXPECT_EQ(rows[23], "epoch 2 of 3  ━━━━━━━━────────  50 of 100 steps  2.500 steps/s  1 min 0 s left");
  EXPECT_EQ(rows[0].rfind("── digits · epoch 1 of 3 ──", 0), 0u) << rows[0];
  EXPECT_LT(shown_after([&](Driver& console) {
              train(console);
              console.progress(3, 3, 60, 100, 0.5);
              console.end();
              console.end();
            }).size(),
            10u);
  EXPECT_EQ(printed_on_terminal([](Driver& console) { console.progress(1, 3, 10, 0, 2); }, {{"progress", false}}), "");
}

TEST(Console, FreesTheLastRowsAtAFatalSignal) {
  const auto train = [](Driver& console) { console.progress(1, 3, 10, 0, 2); };
  const std::string all_rows_scroll = "\x1b[r";
  const auto written_by_crash = [](const std::function<void(Driver&)>& run) {
    const std::string quietly = printed_on_terminal(run);
    const std::string all = printed_on_terminal([&](Driver& console) {
      run(console);
      Driver::speak("failed", "SIGSEGV", 10);
    });
    return all.substr(quietly.size());
  };
  EXPECT_TRUE(holds(written_by_crash(train), all_rows_scroll));
  EXPECT_EQ(written_by_crash([](Driver&) {}), "");
  EXPECT_EQ(written_by_crash([&](Driver& console) {
              train(console);
              console.end();
            }),
            "");
}

TEST(Console, KeepsTheLineOfProgressWithinTheTerminal) {
  for (unsigned short columns = 20; columns <= 100; columns += 10) {
    const std::string text =
        printed_on_terminal([](Driver& console) { console.progress(2, 300, 123456, 987654321, 12345.6); }, {}, columns);
    const std::size_t begin = text.find("epoch 2 of 300");
    ASSERT_NE(begin, std::string::npos);
    EXPECT_LT(columns_of(text.substr(begin, text.find('\x1b', begin) - begin)), columns) << text;
  }
}

TEST(Console, DoesNotBreakTheTrainersLines) {
  const Environment no_color("NO_COLOR", "1");
  for (const std::size_t rows : {4, 10}) {
    for (std::size_t width = 1; width <= 65; ++width) {
      const std::string line(width, 'x');
      Screen screen(rows, 30);
      screen.write(printed_on_terminal(
          [&](Driver& console) {
            console.progress(1, 3, 10, 0, 2);
            fputs(line.c_str(), stdout);
            console.progress(1, 3, 20, 0, 4);
            fputs("\n", stdout);
            console.end();
          },
          {}, 30, static_cast<unsigned short>(rows)));
      std::string shown;
      for (const std::string& row : screen.shown()) shown += row;
      EXPECT_EQ(shown, line) << rows << " rows";
    }
  }
}

TEST(Console, SurvivesAClosedPipe) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  std::string told, told_again;
  const Sink sink;
  {
    Driver console(CONSOLE_PLUGIN);
    console.begin("");
    {
      const Redirected redirected(stdout, ends[1]);
      told = console.loss_tick(1, 1);
    }
    const Redirected redirected(stdout, sink.writer());
    told_again = console.loss_tick(2, 1);
  }
  close(ends[1]);
  EXPECT_EQ(told, "cannot write to stdout: Broken pipe; the table of epoch 1 is lost");
  EXPECT_EQ(told_again, "");
  EXPECT_TRUE(holds(sink.read(), "epoch 2"));
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
}

TEST(ConsoleDeathTest, LeavesWhatTheProgramPrintedToTheProgramsOwnWrite) {
  const auto print_into_nothing = [] {
    int ends[2];
    if (pipe(ends) != 0 || dup2(ends[1], STDOUT_FILENO) < 0) std::abort();
    close(ends[0]);
    close(ends[1]);
    Driver console(CONSOLE_PLUGIN);
    console.begin("");
    fputs("the program's own", stdout);
    console.loss_tick(1, 1);
    std::exit(0);  // exit() writes the buffered text
  };
  EXPECT_EXIT(print_into_nothing(), testing::KilledBySignal(SIGPIPE), "");
}

TEST(Console, GivesUpIfAFileMayNotGrow) {
  const std::string file = testing::TempDir() + "/console_limited.txt";
  std::string told;
  const int output = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  {
    const Redirected redirected(stdout, output);
    Driver console(CONSOLE_PLUGIN);
    console.begin("");
    const FullDisk full(5);
    told = console.loss_tick(1, 1);
  }
  close(output);
  EXPECT_EQ(told, "cannot write to stdout: File too large; the table of epoch 1 is lost");
}

}  // namespace
}  // namespace loupe::test
