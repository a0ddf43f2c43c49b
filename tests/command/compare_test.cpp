// `loupe compare` shows several records in one report, and runs of one name so that they can be told apart.

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "examples/process.h"
#include "recorded_run.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;

Finished compare(const std::string& arguments, const fs::path& folder) {
  return run(std::string(LOUPE_COMMAND) + " compare " + arguments, folder);
}

/// The names of the runs in a report, in its order.
std::vector<std::string> runs_in(const std::string& report) {
  const std::string page = read(report);
  std::vector<std::string> names;
  for (std::size_t run = 0;; ++run) {
    const std::size_t element = page.find("id=\"run-" + std::to_string(run) + "\"");
    if (element == std::string::npos) return names;
    const std::string before = "\"name\":\"";
    const std::size_t name = page.find(before, element) + before.size();
    names.push_back(page.substr(name, page.find('"', name) - name));
  }
}

TEST(Compare, ShowsEveryRunInOneReport) {
  const fs::path folder = fresh_folder();
  record_run(folder / "a", {"adam"});
  record_run(folder / "b", {"sgd", 1, 5, false, 1});
  const Finished finished = compare("a/record.jsonl b/record.jsonl --visualizer html --out both", folder);
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.output, "");
  EXPECT_EQ(runs_in(folder / "both/report.html"), (std::vector<std::string>{"adam", "sgd"}));
}

TEST(Compare, TakesFoldersOfRuns) {
  const fs::path folder = fresh_folder();
  record_run(folder / "a", {"adam"});
  record_run(folder / "b", {"sgd", 1, 5, false, 1});
  EXPECT_EQ(compare("a b/ --out both", folder).output, "");
  EXPECT_EQ(runs_in(folder / "both/report.html"), (std::vector<std::string>{"adam", "sgd"}));
  fs::create_directory(folder / "empty");
  const Finished finished = compare("a empty --out both", folder);
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_NE(finished.output.find("the folder 'empty' has no record.jsonl"), std::string::npos) << finished.output;
}

TEST(Compare, TellsRunsOfOneNameApartByTheirFolders) {
  const fs::path folder = fresh_folder();
  for (const char* each : {"a/run", "b/run", "c"}) record_run(folder / each);
  record_run(folder / "other", {"other"});
  const Finished finished = compare(
      "a/run/record.jsonl b/run/record.jsonl c/record.jsonl other/record.jsonl c/record.jsonl --out out", folder);
  EXPECT_EQ(finished.output, "");
  EXPECT_EQ(runs_in(folder / "out/report.html").size(), 5u);
  const Finished three = compare("a/run/record.jsonl b/run/record.jsonl other/record.jsonl --out out", folder);
  EXPECT_EQ(three.output, "");
  EXPECT_EQ(runs_in(folder / "out/report.html"),
            (std::vector<std::string>{"digits (a/run)", "digits (b/run)", "other"}));
  const Finished same = compare("c/record.jsonl c/record.jsonl --out out", folder);
  EXPECT_EQ(same.output, "");
  const auto names = runs_in(folder / "out/report.html");
  ASSERT_EQ(names.size(), 2u);
  EXPECT_EQ(names[1], names[0] + " 2");
}

TEST(Compare, CallsTheRunsAsTheUserSays) {
  const fs::path folder = fresh_folder();
  record_run(folder / "a");
  record_run(folder / "b");
  const std::string records = "a/record.jsonl b/record.jsonl --out out --names ";
  EXPECT_EQ(compare("--names before,after " + records.substr(0, records.find(" --names")), folder).output, "");
  EXPECT_EQ(runs_in(folder / "out/report.html"), (std::vector<std::string>{"before", "after"}));
  const Finished few = compare(records + "before", folder);
  EXPECT_EQ(few.exit_code, 2);
  EXPECT_EQ(few.output, "loupe: error: --names gives 1 names for 2 records; give one for each\n");
  EXPECT_EQ(compare(records + "same,same", folder).exit_code, 2);
}

TEST(Compare, LosesNoRunInAVisualizerOfOneRun) {
  const fs::path folder = fresh_folder();
  record_run(folder / "a", {"adam"});
  record_run(folder / "b", {"s/gd"});
  const Finished finished =
      compare("a/record.jsonl b/record.jsonl --visualizer record --visualizer tensorboard --out out", folder);
  EXPECT_EQ(finished.output, "");
  EXPECT_NE(read(folder / "out/record.jsonl").find("\"adam\""), std::string::npos);
  EXPECT_NE(read(folder / "out/s_gd/record.jsonl").find("\"s/gd\""), std::string::npos);
  EXPECT_FALSE(fs::is_empty(folder / "out/tensorboard"));
  EXPECT_FALSE(fs::is_empty(folder / "out/s_gd/tensorboard"));
}

TEST(Compare, NamesTheRunThatTheOthersAreComparedWith) {
  const fs::path folder = fresh_folder();
  record_run(folder / "a", {"adam"});
  record_run(folder / "b", {"sgd: \"0.1\""});
  EXPECT_EQ(compare("a b --out out --baseline adam", folder).output, "");
  EXPECT_NE(read(folder / "out/report.html").find(R"({"baseline":"adam"})"), std::string::npos);
  EXPECT_EQ(compare("a b --out out --baseline 'sgd: \"0.1\"'", folder).output, "");
  EXPECT_NE(read(folder / "out/report.html").find(R"({"baseline":"sgd: \"0.1\""})"), std::string::npos);
  EXPECT_EQ(compare("a b --out out --names before,after --baseline after", folder).output, "");
  EXPECT_NE(read(folder / "out/report.html").find(R"({"baseline":"after"})"), std::string::npos);
  const Finished unknown = compare("a b --out none --baseline adm", folder);
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_EQ(unknown.output, "loupe: error: --baseline names no run 'adm'; the runs are 'adam', 'sgd: \"0.1\"'\n");
  EXPECT_FALSE(fs::exists(folder / "none"));
  const Finished unheard = compare("a b --out none --baseline adam --visualizer record", folder);
  EXPECT_EQ(unheard.exit_code, 2);
  EXPECT_NE(unheard.output.find("--baseline is for a visualizer that shows differences"), std::string::npos);
}

/// A shell's words that compare `runs` in the background, as $pid, and go on when there is a report in `out`.
std::string following(const std::string& runs, const std::string& out) {
  return std::string(LOUPE_COMMAND) + " compare " + runs + " --follow --out " + out +
         " & pid=$!; for i in $(seq 600); " + "do [ -e " + out + "/report.html ] && break; sleep 0.05; done; ";
}

TEST(Compare, FollowsItsRunsUntilTheyHaveEnded) {
  const fs::path folder = fresh_folder();
  record_run(folder / "a", {"adam"});
  const std::string whole = read(record_run(folder / "whole", {"sgd"}));
  // The second run is in the midst of its third epoch, and goes on once there is a report.
  const std::size_t cut = whole.rfind("\n", whole.rfind("\"kind\":\"tick\"")) - 20;
  fs::create_directory(folder / "b");
  std::ofstream(folder / "b/record.jsonl") << whole.substr(0, cut);
  std::ofstream(folder / "rest") << whole.substr(cut);
  const std::string command =
      following("a b", "out") + "cp out/report.html early.html; " + "cat rest >> b/record.jsonl; wait $pid; exit $?";
  const Finished finished = run("sh -c '" + command + "'", folder);
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.output, "");
  EXPECT_EQ(runs_in(folder / "early.html"), (std::vector<std::string>{"adam", "sgd"}));
  const auto last_run = [&](const char* report) {
    const std::string page = read(folder / report);
    return page.substr(page.find("id=\"run-1\""));
  };
  EXPECT_NE(last_run("early.html").find("\"epochs\":[1.0,2.0]"), std::string::npos);
  EXPECT_NE(last_run("early.html").find("\"ended\":false"), std::string::npos);
  EXPECT_NE(last_run("out/report.html").find("\"epochs\":[1.0,2.0,3.0]"), std::string::npos);
  EXPECT_NE(last_run("out/report.html").find("\"ended\":true"), std::string::npos);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "out"), fs::directory_iterator()), 1);
}

TEST(Compare, FollowsUntilItIsInterrupted) {
  const fs::path folder = fresh_folder();
  RunToRecord killed{"sgd"};
  killed.end = 0;
  record_run(folder / "a", killed);
  for (const std::string signal : {"INT", "TERM"}) {
    const std::string out = "out" + signal;
    const std::string command = following("a a", out) + "kill -" + signal + " $pid; wait $pid; exit $?";
    const Finished finished = run("sh -c '" + command + "'", folder);
    EXPECT_EQ(finished.exit_code, 0) << signal;
    EXPECT_EQ(finished.output, "");
    EXPECT_EQ(runs_in(folder / out / "report.html").size(), 2u);
  }
}

TEST(Compare, FollowsInAReportAlone) {
  const fs::path folder = fresh_folder();
  record_run(folder / "a");
  const Finished finished = compare("a --visualizer record --out out --follow", folder);
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_NE(finished.output.find("--follow writes the same files again and again"), std::string::npos);
}

TEST(Compare, SaysHowManyFindingsEachRunHad) {
  const fs::path folder = fresh_folder();
  RunToRecord sick{"sgd"};
  sick.healthy = false;
  record_run(folder / "a", {"adam"});
  record_run(folder / "b", sick);
  EXPECT_EQ(compare("a/record.jsonl b/record.jsonl --out out", folder).output,
            "adam: no findings\nsgd: 1 error, 1 warning (1 gone)\n");
}

}  // namespace
}  // namespace loupe::test
