// The output of the commands fits the terminal, and slow commands show their progress.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "examples/process.h"
#include "paths.h"
#include "recorded_run.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;

std::size_t columns_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }));
}

std::string at_width(int columns, const std::string& arguments) {
  return run("COLUMNS=" + std::to_string(columns) + " " + LOUPE_COMMAND + " " + arguments, fresh_folder()).output;
}

/// Lines that are too long although they contain a space where they could be broken.
std::vector<std::string> too_long(const std::string& text, std::size_t columns) {
  std::vector<std::string> found;
  for (const std::string& line : lines_of(text)) {
    const std::size_t begin = line.find_first_not_of(' ');
    const bool can_break = begin != std::string::npos && line.find(' ', begin) != std::string::npos;
    if (columns_of(line) > columns && can_break) found.push_back(line);
  }
  return found;
}

/// The words of a text, without line ends and blanks.
std::string words_of(const std::string& text) {
  std::istringstream stream(text);
  std::string words;
  for (std::string word; stream >> word;) words += word + ' ';
  return words;
}

TEST(Wrapping, FitsEveryListIntoTheColumnsThatThereAreAndLosesNoWord) {
  for (const char* arguments : {"--help", "compare --help", "list", "list --long", "describe health", "describe config",
                                "explain", "explain dead_units", "explain 'Weight Norm'"}) {
    const std::string whole = run(LOUPE_COMMAND + " " + arguments, fresh_folder()).output;
    for (const int columns : {40, 60, 80, 160}) {
      const std::string text = at_width(columns, arguments);
      EXPECT_EQ(too_long(text, static_cast<std::size_t>(columns)), std::vector<std::string>()) << arguments;
      EXPECT_EQ(words_of(text), words_of(whole)) << arguments;
    }
  }
}

TEST(Wrapping, KeepsTheColumnsOfAList) {
  const std::string text = at_width(60, "describe probe_lens --plugins " + PROBE_PLUGIN);
  EXPECT_NE(text.find("\n  passes        text     default \"both\"; one of both,\n                         training, "),
            std::string::npos)
      << text;
  const std::string help = at_width(60, "learn --help");
  EXPECT_NE(help.find("\n  records FILE ... REQUIRED   Folders of good runs, or their"), std::string::npos) << help;
}

TEST(Wrapping, DoesNotWrapLinesInFilesAndPipes) {
  const std::string text = run("unset COLUMNS; " + LOUPE_COMMAND + " describe health", fresh_folder()).output;
  EXPECT_FALSE(too_long(text, 100).empty());
  for (const char* nonsense : {"0", "-5", "wide", "''"})
    EXPECT_EQ(run(std::string("COLUMNS=") + nonsense + " " + LOUPE_COMMAND + " describe health", fresh_folder()).output,
              text);
}

TEST(Wrapping, LeavesWhatProgramsReadAsItIs) {
  const fs::path folder = fresh_folder();
  RunToRecord sick;
  sick.healthy = false;
  record_run(folder, sick);
  for (const char* arguments : {"diagnose . --json", "explain --glossary"}) {
    const std::string command = LOUPE_COMMAND + " " + arguments;
    EXPECT_EQ(run("COLUMNS=40 " + command, folder).output, run(command, folder).output);
  }
}

TEST(Wrapping, FollowsTheTerminalThatThereIs) {
  const Finished shown =
      run("script -qec 'stty cols 60; COLUMNS=160 " + LOUPE_COMMAND + " list' /dev/null", fresh_folder());
  EXPECT_EQ(too_long(shown.output, 61), std::vector<std::string>()) << "column 61 is the carriage return";
  EXPECT_NE(shown.output.find("\n                                 "), std::string::npos) << shown.output;
}

TEST(FullDisk, IsReportedByCommandsThatWriteToStandardOutput) {
  const Finished full = run(LOUPE_COMMAND + " list >/dev/full", fresh_folder());
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_EQ(full.output,
            "loupe: error: standard output accepts no more, so a part of this is missing; is the disk full?\n");
}

/// Runs a command on a terminal that reads a record for longer than a second.
std::string told_of_a_slow_record(const std::string& command) {
  const fs::path folder = fresh_folder();
  const std::vector<std::string> lines = lines_of(read(record_run(folder / "whole")));
  std::ofstream slow(folder / "begin");
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) slow << lines[i] << "\n";
  slow.close();
  std::ofstream rest(folder / "rest");
  constexpr int many = 5000;
  for (int i = 0; i < many; ++i)
    rest << R"({"kind":"value","epoch":4,"tag":"Loss","layer":"Loss","line":"train_loss mean","value":1})"
         << "\n";
  rest << R"({"kind":"tick","epoch":4,"time":""})"
       << "\n"
       << lines.back() << "\n";
  rest.close();
  EXPECT_EQ(::mkfifo((folder / "slow").c_str(), 0600), 0);
  return run("(cat begin; until [ -e started ]; do sleep 0.05; done; sleep 3; cat rest) > slow & "
             "TERM=xterm script -qec 'touch started; " +
                 command + "' /dev/null 9<slow",
             folder)
      .output;
}

TEST(Progress, IsToldOnATerminalOnceItTakesMoreThanASecond) {
  const std::string told = told_of_a_slow_record(LOUPE_COMMAND + " diagnose /dev/fd/9");
  EXPECT_EQ(told.rfind("\rreading epoch 3 of '/dev/fd/9'\x1b[K", 0), 0u) << told;
  const std::size_t gone = told.find("\r\x1b[K");
  ASSERT_NE(gone, std::string::npos) << told;
  EXPECT_EQ(told.rfind("\r\x1b[Kdigits (/dev/fd/9)"), gone) << "the progress is cleared before the answer: " << told;
}

TEST(Progress, IsNotWrittenToAFile) {
  const std::string told = told_of_a_slow_record(LOUPE_COMMAND + " compare /dev/fd/9 --out out 2>errors; cat errors");
  EXPECT_EQ(told.find("reading"), std::string::npos) << told;
  EXPECT_NE(told.find("wrote out/report.html"), std::string::npos) << told;
}

}  // namespace
}  // namespace loupe::test
