// Printed text: suggested names, text without control sequences of terminals, and the log.
#include "core/text.h"

#include <gtest/gtest.h>
#include <loupe/abi.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <thread>

#include "core/log.h"

namespace loupe {
namespace {

const std::vector<std::string> known = {"output_activation", "loss_metrics", "parameter_norm"};

TEST(Suggestion, NamesTheNearestNameDespiteAFewTypos) {
  EXPECT_EQ(suggestion("output_activaton", known), "; did you mean 'output_activation'?");
  EXPECT_EQ(suggestion("los_metric", known), "; did you mean 'loss_metrics'?");
}

TEST(Suggestion, CountsASwapOfNeighboursAsOneTypo) {
  EXPECT_EQ(suggestion("ab", {"cbax", "ba"}), "; did you mean 'ba'?");
  EXPECT_EQ(suggestion("dpeht", {"depth"}), "; did you mean 'depth'?");
}

TEST(Suggestion, ListsAllNamesIfNoneIsNear) {
  const std::string all = "; known are: output_activation, loss_metrics, parameter_norm";
  EXPECT_EQ(suggestion("parameter_difference", known), all);
  EXPECT_EQ(suggestion("dropout", known), all);
  EXPECT_EQ(suggestion("dead_units", {"probe_lens"}), "; the only one is: probe_lens");
}

TEST(Suggestion, OfShortNamesNeedsCloseMatches) {
  EXPECT_EQ(suggestion("lr", {"dir", "eps"}), "; known are: dir, eps");
  EXPECT_EQ(suggestion("x", {"y", "z"}), "; known are: y, z");
  EXPECT_EQ(suggestion("csv", {"html", "svg"}), "; known are: html, svg");
  EXPECT_EQ(suggestion("name", {"dir", "size", "same"}), "; did you mean 'same'?");
}

TEST(Suggestion, CompletesABeginning) {
  EXPECT_EQ(suggestion("directory", {"name", "dir", "resume"}), "; did you mean 'dir'?");
  EXPECT_EQ(suggestion("param", known), "; did you mean 'parameter_norm'?");
  EXPECT_EQ(suggestion("no", {"norm", "other"}), "; known are: norm, other");
}

TEST(Suggestion, OfAnEndlessNameIsFast) {
  EXPECT_EQ(suggestion(std::string(1'000'000, 'a'), {"a", "ab"}), "; known are: a, ab");
}

TEST(Suggestion, ListsManyNamesInColumns) {
  std::vector<std::string> many;
  for (char letter = 'a'; letter <= 'u'; ++letter) many.push_back(std::string(20, letter));
  const std::string text = suggestion("1", many);
  EXPECT_EQ(text.rfind("; known are:\n  aaaaaaaaaaaaaaaaaaaa  bbbbbbbbbbbbbbbbbbbb  cccccccccccccccccccc\n  dddd", 0),
            0u)
      << text;
  EXPECT_NE(text.find("  uuuuuuuuuuuuuuuuuuuu"), std::string::npos) << text;
}

TEST(Columns, AlignNamesBelowEachOther) {
  EXPECT_EQ(in_columns({"one", "two", "three", "four", "five"}, 14, 2), "  one    two\n  three  four\n  five");
  EXPECT_EQ(in_columns({"longer than that", "b"}, 8, 1), " longer than that\n b");
  EXPECT_EQ(in_columns({}, 80, 2), "");
}

TEST(Suggestion, ReportsAnEmptyList) {
  EXPECT_EQ(suggestion("x", {}), "; there are none");
}

TEST(Suggestion, AcceptsAnEmptyName) {
  EXPECT_EQ(suggestion("", {"a", "abcd"}), "; known are: a, abcd");
}

TEST(Utf8, ReplacesInvalidBytes) {
  EXPECT_EQ(utf8("caf\xe9"), "caf\xEF\xBF\xBD");
  EXPECT_EQ(utf8("\xe9t\xe9"), "\xEF\xBF\xBDt\xEF\xBF\xBD");
  EXPECT_EQ(utf8("σ"), "σ");
}

TEST(Printable, RemovesControlSequencesOfTerminals) {
  EXPECT_EQ(printable("\x1b[31mred\x07\x7f\r"), "?[31mred???");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            "?31m")
      << "the control sequence introducer can be a single character";
  EXPECT_EQ(printable("two\nlines\tand σ \xC2\xA0"), "two\nlines\tand σ \xC2\xA0");
  EXPECT_EQ(printable("\xe9"), "\xEF\xBF\xBD");
  EXPECT_EQ(printable("two\nlines\tand σ", U""), "two?lines?and σ");
}

TEST(Log, RemovesControlSequencesFromNames) {
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

TEST(LogDeathTest, OnAStderrWithoutReaderNeitherKillsTheProgramNorSpoilsItsStream) {
  const auto tell = [] {
    give_stderr_no_reader();
    log(LOUPE_LOG_WARNING, "nobody hears this");
    std::_Exit(std::cerr.good() ? 0 : 1);
  };
  EXPECT_EXIT(tell(), testing::ExitedWithCode(0), "");
}

TEST(Log, ToStderrDoesNotWaitForABusySink) {
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
