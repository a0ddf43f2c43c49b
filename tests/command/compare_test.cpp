// `loupe compare` shows several records in one report, with distinct names for runs of the same name.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>

#include "examples/process.h"
#include "paths.h"
#include "recorded_run.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;

/// Compares with --force, so that existing files are overwritten.
Finished compare(const std::string& arguments, const fs::path& folder) {
  return run(LOUPE_COMMAND + " compare --force " + arguments, folder);
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

class Compare : public testing::Test {
 protected:
  const fs::path folder = fresh_folder();
};

TEST_F(Compare, DistinguishesRunsOfOneNameByTheirFolders) {
  for (const char* each : {"a/run", "b/run", "c"}) record_run(folder / each);
  record_run(folder / "other", {"other"});
  const Finished finished = compare(
      "a/run/record.jsonl b/run/record.jsonl c/record.jsonl other/record.jsonl c/record.jsonl --out out", folder);
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(runs_in(folder / "out/report.html").size(), 5u);
  const Finished three = compare("a/run/record.jsonl b/run/record.jsonl other/record.jsonl --out out", folder);
  EXPECT_EQ(three.exit_code, 0);
  EXPECT_EQ(runs_in(folder / "out/report.html"),
            (std::vector<std::string>{"digits (a/run)", "digits (b/run)", "other"}));
  const Finished same = compare("c/record.jsonl c/record.jsonl --out out", folder);
  EXPECT_EQ(same.exit_code, 0);
  const auto names = runs_in(folder / "out/report.html");
  ASSERT_EQ(names.size(), 2u);
  EXPECT_EQ(names[1], names[0] + " 2");
}

TEST_F(Compare, CallsTheRunsAsTheUserSays) {
  record_run(folder / "a");
  record_run(folder / "b");
  const std::string records = "a/record.jsonl b/record.jsonl --out out --names ";
  EXPECT_EQ(compare("--names before,after " + records.substr(0, records.find(" --names")), folder).exit_code, 0);
  EXPECT_EQ(runs_in(folder / "out/report.html"), (std::vector<std::string>{"before", "after"}));
  EXPECT_ENDS(compare(records + "before", folder), 2, "--names gives 1 names for 2 records");
  EXPECT_EQ(compare(records + "same,same", folder).exit_code, 2);
}

TEST_F(Compare, LosesNoRunInAVisualizerOfOneRun) {
  record_run(folder / "a", {"adam"});
  record_run(folder / "b", {"s/gd"});
  const Finished finished =
      compare("a/record.jsonl b/record.jsonl --visualizer record --visualizer tensorboard --out out", folder);
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_NE(read(folder / "out/record.jsonl").find("\"adam\""), std::string::npos);
  EXPECT_NE(read(folder / "out/s_gd/record.jsonl").find("\"s/gd\""), std::string::npos);
  EXPECT_FALSE(fs::is_empty(folder / "out/tensorboard"));
  EXPECT_FALSE(fs::is_empty(folder / "out/s_gd/tensorboard"));
}

TEST_F(Compare, NamesTheRunThatTheOthersAreComparedWith) {
  record_run(folder / "a", {"adam"});
  record_run(folder / "b", {"sgd: \"0.1\""});
  EXPECT_EQ(compare("a b --out out --baseline adam", folder).exit_code, 0);
  EXPECT_NE(read(folder / "out/report.html").find(R"({"baseline":"adam"})"), std::string::npos);
  EXPECT_EQ(compare("a b --out out --baseline 'sgd: \"0.1\"'", folder).exit_code, 0);
  EXPECT_NE(read(folder / "out/report.html").find(R"({"baseline":"sgd: \"0.1\""})"), std::string::npos);
  EXPECT_EQ(compare("a b --out out --names before,after --baseline after", folder).exit_code, 0);
  EXPECT_NE(read(folder / "out/report.html").find(R"({"baseline":"after"})"), std::string::npos);
  EXPECT_ENDS(compare("a b --out none --baseline adm", folder), 2, "'adm'; the runs are 'adam', 'sgd: \"0.1\"'\n");
  EXPECT_FALSE(fs::exists(folder / "none"));
  EXPECT_ENDS(compare("a b --out none --baseline adam --visualizer record", folder), 2,
              "--baseline is for a visualizer that shows differences");
}

/// A shell script that compares `runs` in the background, as $pid, and waits until there is a report in `out`.
std::string following(const std::string& runs, const std::string& out) {
  return LOUPE_COMMAND + " compare " + runs + " --follow --out " + out + " & pid=$!; for i in $(seq 600); " +
         "do [ -e " + out + "/report.html ] && break; sleep 0.05; done; ";
}

TEST_F(Compare, FollowsItsRunsUntilTheyHaveEnded) {
  record_run(folder / "a", {"adam"});
  const std::string whole = read(record_run(folder / "whole", {"sgd"}));
  // The second run is in the middle of its third epoch, and continues once there is a report.
  const std::size_t cut = whole.rfind("\n", whole.rfind("\"kind\":\"tick\"")) - 20;
  fs::create_directory(folder / "b");
  std::ofstream(folder / "b/record.jsonl") << whole.substr(0, cut);
  std::ofstream(folder / "rest") << whole.substr(cut);
  const std::string command =
      following("a b", "out") + "cp out/report.html early.html; " + "cat rest >> b/record.jsonl; wait $pid; exit $?";
  const Finished finished = run("sh -c '" + command + "'", folder);
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.output.rfind("best train_loss: ", 0), 0u) << finished.output;
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

TEST_F(Compare, FollowsUntilItIsInterrupted) {
  RunToRecord killed{"sgd"};
  killed.end = 0;
  record_run(folder / "a", killed);
  for (const std::string signal : {"INT", "TERM"}) {
    const std::string out = "out" + signal;
    const std::string command = following("a a", out) + "kill -" + signal + " $pid; wait $pid; exit $?";
    EXPECT_ENDS(run("sh -c '" + command + "'", folder), 0, "running or crashed");
    EXPECT_EQ(runs_in(folder / out / "report.html").size(), 2u);
  }
}

TEST_F(Compare, FollowsOnlyWithAReport) {
  record_run(folder / "a");
  EXPECT_ENDS(compare("a --visualizer record --out out --follow", folder), 2, "--follow rewrites its files");
}

/// Three runs of a sweep; the second is unhealthy and the third has not ended.
fs::path sweep() {
  const fs::path folder = fresh_folder();
  RunToRecord first{"net rate 0.1 seed", 1, 4}, second{"net rate 0.2 seed", 1, 2, false, 1};
  RunToRecord third{"net rate 0.3 seed", 1, 3, false, -0.05};
  second.healthy = false;
  second.rate = 0.2;
  third.rate = 0.3;
  third.end = 0;
  int number = 0;
  for (const RunToRecord& each : {first, second, third}) record_run(folder / std::to_string(number++), each);
  return folder;
}

TEST_F(Compare, SaysWhichRunIsBestAndWhatWasDifferent) {
  EXPECT_EQ(compare("0 1 2 --out out", sweep()).output,
            "best train_loss: '0.3' with -0.01667 in epoch 3\n"
            "\n"
            "run  train_loss  in epoch      last  optimizer.lr  state               findings\n"
            "0.3  * -0.01667         3  -0.01667  0.3           running or crashed  no findings\n"
            "0.1       0.025         4     0.025  0.1           completed           no findings\n"
            "0.2        1.05         2      1.05  0.2           completed           1 error, 1 warning (1 resolved): "
            "nan_loss\n"
            "\n"
            "identical in all runs: model net Net of 11 parameters\n"
            "wrote out/report.html\n");
}

TEST_F(Compare, GoesOnBelowWhereItsTableIsWiderThanTheTerminal) {
  const fs::path folder = sweep();
  const std::string text = run("COLUMNS=40 " + LOUPE_COMMAND + " compare 0 1 2 --out out", folder).output;
  std::size_t rows = 0;
  for (const std::string& line : lines_of(text)) {
    const std::size_t ellipsis = line.find("…") == std::string::npos ? 0 : 2;  // "…" has two bytes more than columns
    EXPECT_LE(line.size(), 40 + ellipsis) << text;
    rows += line.rfind("0.2  ", 0) == 0 ? 1 : 0;
  }
  EXPECT_EQ(rows, 3u) << text;
  EXPECT_NE(text.find("0.2  1 error, 1 warning (1 resolved): n…\n"), std::string::npos) << text;
}

TEST_F(Compare, CallsNoRunTheBestWhereNoneCanBe) {
  RunToRecord other{"other"}, nan{"nan", 1, 2, false, NAN}, same{"same"};
  other.loss = "loss";
  record_run(folder / "a", {"usual"});
  record_run(folder / "b", other);
  record_run(folder / "nan", nan);
  record_run(folder / "nan2", nan);
  record_run(folder / "same", same);
  const auto first_lines = [&](const std::string& runs) {
    const std::string text = compare(runs + " --out out", folder).output;
    EXPECT_EQ(text.find('*'), text.find("* 0.0")) << text;
    return text.substr(0, text.find("\n\n"));
  };
  EXPECT_EQ(first_lines("a b"),
            "only 'usual' has the loss train_loss, so it is not compared\n"
            "only 'other' has the loss loss, so it is not compared");
  EXPECT_EQ(first_lines("nan nan2"), "train_loss was finite in no run");
  EXPECT_EQ(first_lines("a same"), "best train_loss: 'usual' and 'same' with 0.03333");
  EXPECT_EQ(first_lines("a nan b"),
            "best train_loss: 'usual' with 0.03333 in epoch 3, of the 2 runs that have it\n"
            "only 'other' has the loss loss, so it is not compared");
  Driver record(RECORD_PLUGIN);
  record.begin((folder / "none").string(), false, "none");
  record.begin_tick(1);
  record.end_tick();
  record.flush();
  EXPECT_EQ(first_lines("none").rfind("run   state", 0), 0u);
  EXPECT_EQ(first_lines("none none"), "no run has a loss, so no run is the best");
}

TEST_F(Compare, CallsNoRunBestWithSeveralTrainedLosses) {
  for (const std::string name : {"a", "b"}) {
    Driver record(RECORD_PLUGIN);
    record.begin((folder / name).string(), false, name);
    record.tag("Loss", LOUPE_SCALE_NUMERICAL, true, true);
    record.begin_tick(1);
    for (const char* loss : {"Actor loss mean", "Critic loss mean"}) record.value("Loss", "Loss", loss, 0.5);
    record.end_tick();
    record.flush();
  }
  const std::string text = run(LOUPE_COMMAND + " compare .", folder).output;
  EXPECT_EQ(text.find("best"), text.find("best\n")) << text;
  EXPECT_NE(text.find("Critic loss is one of several trained losses, so its lowest value is not its best"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("0.5"), std::string::npos) << "the last values stay\n" << text;
}

TEST_F(Compare, PutsRunsWithoutTheLossLastAndNamesFewOfThoseThatAreEqual) {
  RunToRecord other{"other"};
  other.loss = "loss";
  record_run(folder / "1", other);
  record_run(folder / "2", {"diverged", 1, 2, false, NAN});
  for (const std::string name : {"a", "b", "c", "d", "e"}) record_run(folder / ("3" + name), {name});
  const std::vector<std::string> lines = lines_of(run(LOUPE_COMMAND + " compare .", folder).output);
  ASSERT_GE(lines.size(), 11u);
  EXPECT_EQ(lines[0], "only 'other' has the loss loss, so it is not compared");
  EXPECT_EQ(lines[1], "best train_loss: 'a', 'b', 'c' and 2 more with 0.03333, of the 6 runs that have it");
  std::string order;
  for (std::size_t i = 4; i < 11; ++i) order += lines[i].substr(0, lines[i].find(' ')) + " ";
  EXPECT_EQ(order, "a b c d e other diverged ");
}

TEST_F(Compare, ShortensNamesToWhatDiffers) {
  const auto names = [&](const std::string& runs) {
    EXPECT_EQ(compare(runs + " --out out", folder).exit_code, 0);
    return runs_in(folder / "out/report.html");
  };
  record_run(folder / "sweep/net-0.1-a");
  record_run(folder / "sweep/net-0.01-a");
  EXPECT_EQ(names("sweep"), (std::vector<std::string>{"0.01", "0.1"}));
  record_run(folder / "x", {"digits-2"});
  EXPECT_EQ(names("sweep/net-0.1-a x"), (std::vector<std::string>{"digits", "digits-2"}));
  record_run(folder / "y", {"a-x"});
  record_run(folder / "z", {"a_x"});
  EXPECT_EQ(names("y z"), (std::vector<std::string>{"a-x", "a_x"}));
  // The full name also selects the baseline.
  record_run(folder / "v", {"run one"});
  record_run(folder / "w", {"run two"});
  EXPECT_EQ(names("v w --baseline 'run two'"), (std::vector<std::string>{"one", "two"}));
  EXPECT_NE(read(folder / "out/report.html").find(R"({"baseline":"two"})"), std::string::npos);
}

TEST_F(Compare, PrintsTheTableAndWritesAFileOnlyWithAFolderForIt) {
  record_run(folder / "a", {"a"});
  record_run(folder / "b", {"b"});
  for (const int again : {0, 1}) {
    const Finished finished = run(LOUPE_COMMAND + " compare a b", folder);
    EXPECT_EQ(finished.exit_code, 0) << again;
    EXPECT_NE(finished.output.find("\nrun  "), std::string::npos) << finished.output;
    EXPECT_NE(finished.output.find("Add --out FOLDER for a report with all curves."), std::string::npos);
  }
  for (const std::string asked : {"--visualizer html", "--baseline a", "--follow", "--option html.megabytes=1"}) {
    EXPECT_ENDS(run(LOUPE_COMMAND + " compare a b " + asked, folder), 2, "needs a folder for them: --out FOLDER\n");
  }
  EXPECT_EQ(run(LOUPE_COMMAND + " compare a b --visualizer console", folder).exit_code, 0);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 2);
  EXPECT_EQ(run(LOUPE_COMMAND + " compare a b --out out", folder).exit_code, 0);
  EXPECT_TRUE(fs::exists(folder / "out/report.html"));
}

TEST_F(Compare, OverwritesNothingUnlessToldToAndNeverARecord) {
  record_run(folder / "a", {"a"});
  const std::string other = record_run(folder / "b", {"b"}), before = read(other);
  const std::string command = LOUPE_COMMAND + " compare a b --visualizer html --out .";
  EXPECT_EQ(run(command, folder).exit_code, 0);
  EXPECT_ENDS(run(command, folder), 2, "'report.html' is there already, maybe of an earlier 'loupe compare'");
  EXPECT_EQ(run(command + " --force", folder).exit_code, 0);
  // The report of a single run does not prevent a common report, but no record may be overwritten.
  write(folder / "b/report.html", "of the run alone");
  EXPECT_EQ(run(LOUPE_COMMAND + " compare a b --out out", folder).exit_code, 0);
  EXPECT_ENDS(run(command + " --visualizer record --force", folder), 2,
              "the visualizer 'record' would write over the record 'b/record.jsonl'");
  EXPECT_EQ(read(other), before);
}

}  // namespace
}  // namespace loupe::test
