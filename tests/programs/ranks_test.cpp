// Processes that a launcher starts together form a single run.

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "examples/process.h"
#include "paths.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;

const std::string loupe_run = LOUPE_COMMAND + " run --every-step ";

/// Runs the programs at the same time, each as one rank.
Finished run_ranks(const std::vector<std::string>& programs, const fs::path& folder) {
  std::string script;
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    script += "RANK=" + std::to_string(rank) + " WORLD_SIZE=" + std::to_string(programs.size()) + " " + programs[rank] +
              " > out-" + std::to_string(rank) + " 2>&1 & ";
  }
  return run("{ " + script + "} ; wait", folder);
}

nlohmann::json first_line(const fs::path& record) {
  std::ifstream file(record);
  std::string line;
  std::getline(file, line);
  return nlohmann::json::parse(line, nullptr, false);
}

/// The parameter selects whether each step is measured, or each rank measures within its budget.
class RanksThatMeasure : public testing::TestWithParam<const char*> {
 protected:
  const std::string loupe_run = LOUPE_COMMAND + " run " + GetParam();
};
INSTANTIATE_TEST_SUITE_P(Steps, RanksThatMeasure, testing::Values("--every-step ", ""),
                         [](const auto& test) { return *test.param != '\0' ? "Each" : "ByTheirBudgets"; });

TEST_P(RanksThatMeasure, AreOneRunThatRankZeroShowsAndEachKeepsItsRecord) {
  const fs::path folder = fresh_folder();
  const std::string program = loupe_run + "-- " + LOUPE_TRAINERS + " mlp";
  run_ranks({program, program, program}, folder);
  const fs::path runs = folder / "loupe-runs", mine = runs / "trainers";
  EXPECT_EQ(std::distance(fs::directory_iterator(runs), fs::directory_iterator()), 1);
  for (int rank = 0; rank < 3; ++rank) {
    const fs::path own = rank == 0 ? mine : mine / ("rank-" + std::to_string(rank));
    const nlohmann::json begun = first_line(own / "record.jsonl");
    EXPECT_EQ(begun.value("rank", -1), rank);
    EXPECT_EQ(begun.value("world_size", -1), 3);
    EXPECT_FALSE(read_record(own / "record.jsonl").tags().empty());
    EXPECT_EQ(fs::exists(own / "report.html"), rank == 0);
  }
  const std::string shown = text_of(folder / "out-0");
  EXPECT_NE(shown.find("loupe: rank 0 of 3 shows this run"), std::string::npos) << shown;
  EXPECT_NE(shown.find("trainers · 3 ranks · completed"), std::string::npos) << shown;
  const std::string diagnosis = run(LOUPE_COMMAND + " diagnose loupe-runs", folder).output;
  EXPECT_EQ(diagnosis.find("ranks_differ"), std::string::npos) << diagnosis;
  if (*GetParam() == '\0') return;  // a rank with a budget may report how often it measures
  EXPECT_EQ(text_of(folder / "out-1"), run(LOUPE_TRAINERS + " mlp", folder).output) << "Loupe prints nothing here";
}

TEST_P(RanksThatMeasure, ReportTheirErrorsWithTheirNumber) {
  const fs::path folder = fresh_folder();
  run_ranks(
      {loupe_run + "-- " + LOUPE_TRAINERS + " mlp", loupe_run + "--name trainers -- " + LOUPE_SMALL + "/faulty_o2"},
      folder);
  const std::string told = text_of(folder / "out-1");
  EXPECT_NE(told.find("loupe: error: rank 1: "), std::string::npos) << told;
  EXPECT_NE(told.find("(gradients_not_cleared; see "), std::string::npos) << told;
  EXPECT_EQ(text_of(folder / "out-0").find("error: rank"), std::string::npos);
}

TEST_P(RanksThatMeasure, AreDiagnosedTogether) {
  const fs::path folder = fresh_folder();
  run_ranks(
      {loupe_run + "-- " + LOUPE_TRAINERS + " mlp", loupe_run + "--name trainers -- " + LOUPE_SMALL + "/faulty_o2"},
      folder);
  const Finished both = run(LOUPE_COMMAND + " diagnose loupe-runs", folder);
  EXPECT_EQ(both.exit_code, 1) << "an error of any rank is an error of the run";
  const std::size_t first = both.output.find("trainers, rank 0 of 2 ("),
                    second = both.output.find("trainers, rank 1 of 2 (");
  ASSERT_NE(first, std::string::npos) << both.output;
  ASSERT_NE(second, std::string::npos) << both.output;
  EXPECT_GT(both.output.find("gradients_not_cleared"), second) << both.output;
  EXPECT_NE(both.output.find(
                "  warning: the ranks ran with different settings: 'model' is Net of 58 parameters in rank 0 and "),
            std::string::npos)
      << both.output;
  fs::remove_all(folder / "loupe-runs/trainers/rank-1");
  const Finished one = run(LOUPE_COMMAND + " diagnose loupe-runs", folder);
  EXPECT_NE(one.output.find("is the record of rank 0 of 2; beside it there is no record of rank 1\n"),
            std::string::npos)
      << one.output;
}

TEST(Ranks, WithDifferentMeasuredStepsAreNotReportedToDiffer) {
  const fs::path folder = fresh_folder();
  std::ofstream(folder / "monitor.yaml") << "loupe: 1\nattach: {every: 4}\nrun: {name: mine, dir: mine}\n"
                                            "lenses: [health, loss_metrics]\nvisualizers: [console, record]\n";
  const std::string rest = "--config monitor.yaml -- " + LOUPE_TRAINERS + " mlp";
  run_ranks({loupe_run + rest, LOUPE_COMMAND + " run " + rest, LOUPE_COMMAND + " run " + rest}, folder);
  const std::string diagnosed = run(LOUPE_COMMAND + " diagnose mine", folder).output;
  for (const char* rule : {"ranks_differ", "replica_drift", "gradients_not_averaged", "rank_imbalance"})
    EXPECT_EQ(diagnosed.find(rule), std::string::npos) << diagnosed;
}

TEST(Ranks, AreSeparateRunsIfConfigured) {
  const fs::path folder = fresh_folder();
  std::ofstream(folder / "monitor.yaml") << "loupe: 1\nranks: off\nrun: {dir: mine}\nlenses: [loss_metrics]\n"
                                            "visualizers: [record]\n";
  const std::string program = loupe_run + "--config monitor.yaml -- " + LOUPE_TRAINERS + " mlp";
  run_ranks({program, program}, folder);
  EXPECT_FALSE(fs::exists(folder / "mine/rank-1"));
  EXPECT_EQ(first_line(folder / "mine/record.jsonl").value("world_size", -1), 1);
}

/// The number of events of the first layer in the record's first tick.
double events_of(const fs::path& record) {
  std::ifstream file(record);
  for (std::string line; std::getline(file, line);) {
    const nlohmann::json read = nlohmann::json::parse(line, nullptr, false);
    if (read.value("kind", "") == "value" && read.value("tag", "") == "Output Norm") return read.value("events", 0.0);
  }
  return 0;
}

TEST(Ranks, MeetAtAStoreThatIsNamedFromWhereverTheyAreStarted) {
  const fs::path folder = fresh_folder();
  std::ofstream(folder / "monitor.yaml") << "loupe: 1\nranks: {store: \"file://" << (folder / "meeting").string()
                                         << "\"}\nrun: {name: mine, dir: mine}\nlenses: [output_norm]\n"
                                            "visualizers: [record]\n";
  const std::string job = "MASTER_ADDR=127.0.0.1 MASTER_PORT=1 ",
                    program = loupe_run + "--config ../monitor.yaml -- " + LOUPE_TRAINERS + " mlp";
  fs::create_directories(folder / "a");
  fs::create_directories(folder / "b");
  run("(cd a && " + job + "RANK=0 WORLD_SIZE=2 " + program + " > out 2>&1) & (cd b && " + job + "RANK=1 WORLD_SIZE=2 " +
          program + " > out 2>&1) & wait",
      folder);
  const double own = events_of(folder / "b/mine/rank-1/record.jsonl");
  EXPECT_GT(own, 0);
  EXPECT_EQ(events_of(folder / "a/mine/record.jsonl"), 2 * own)
      << text_of(folder / "a/out") << text_of(folder / "b/out");
}

TEST(Ranks, TrainOnWhereTheirMeetingFolderCannotBeUsed) {
  const fs::path folder = fresh_folder();
  std::ofstream(folder / "monitor.yaml") << "loupe: 1\nranks: {store: \"file://" << (folder / "file").string()
                                         << "\"}\nrun: {name: mine, dir: mine}\nlenses: [output_norm]\n"
                                            "visualizers: [record]\n";
  std::ofstream(folder / "file") << "this is not a folder";
  const std::string program = loupe_run + "--config monitor.yaml -- " + LOUPE_TRAINERS + " mlp";
  run_ranks({program, program}, folder);
  const std::string plain = run(LOUPE_TRAINERS + " mlp", folder).output;
  for (const char* rank : {"0", "1"}) {
    const std::string told = text_of(folder / (std::string("out-") + rank));
    const std::string lost = "the store through which the ranks exchange their numbers is lost: ";
    EXPECT_NE(told.find(plain), std::string::npos) << told;
    EXPECT_NE(told.find(lost), std::string::npos) << told;
    EXPECT_EQ(told.find(lost), told.rfind(lost)) << told << "the message comes once";
  }
  const double own = events_of(folder / "mine/rank-1/record.jsonl");
  EXPECT_GT(own, 0);
  EXPECT_EQ(events_of(folder / "mine/record.jsonl"), own) << "only the numbers of rank 0";
}

/// The run has a single rank, which ends soon. It does not wait for the others that the environment announces.
TEST(Ranks, ThatNeverCameAreNotWaitedForAtTheEnd) {
  const fs::path folder = fresh_folder();
  std::ofstream(folder / "monitor.yaml") << "loupe: 1\nranks: {timeout: 600}\nrun: {name: mine, dir: mine}\n"
                                            "lenses: [output_norm]\nvisualizers: [record]\n";
  const Finished finished =
      run("RANK=0 WORLD_SIZE=100000 timeout 120 " + loupe_run + "--config monitor.yaml -- " + LOUPE_TRAINERS + " mlp",
          folder);
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  EXPECT_NE(finished.output.find("99995 more never came"), std::string::npos) << finished.output;
}

TEST(Ranks, OfTwoJobsInOneFolderAtOnceKeepTheirOwnRuns) {
  const fs::path folder = fresh_folder();
  std::ofstream(folder / "monitor.yaml") << "loupe: 1\nrun: {name: mine, dir: mine}\nlenses: [output_norm]\n"
                                            "visualizers: [record]\n";
  const std::string program = loupe_run + "--config monitor.yaml -- " + LOUPE_TRAINERS + " mlp";
  std::string script;
  for (const char* job : {"x", "y"}) {
    script += std::string("setsid -w sh -c '");
    for (const char* rank : {"0", "1", "2"})
      script += std::string("RANK=") + rank + " WORLD_SIZE=3 " + program + " > out-" + job + rank + " 2>&1 & ";
    script += "wait' & ";
  }
  run(script + "wait", folder);
  std::vector<double> merged, alone;
  std::string told;
  for (const auto& each : fs::recursive_directory_iterator(folder)) {
    if (each.path().filename().string().rfind("out-", 0) == 0) told += text_of(each.path());
    if (each.path().filename() != "record.jsonl") continue;
    (first_line(each.path()).value("rank", -1) == 0 ? merged : alone).push_back(events_of(each.path()));
  }
  EXPECT_EQ(alone.size(), 4u) << told;
  ASSERT_EQ(merged.size(), 2u) << told;
  for (const double events : merged) EXPECT_EQ(events, 3 * alone[0]) << told;
}

/// The parameter is the number of free pages: 0 is too little even for the record's beginning.
class RanksWithAFullDisk : public testing::TestWithParam<int> {
 protected:
  /// A command that lets a shell mount without effect on others; empty if this machine forbids that.
  static std::string unshare() {
    for (const char* each : {"unshare -m ", "unshare -rm "}) {
      const std::string mounts = "sh -c 'mount -t tmpfs -o size=4k tmpfs .'";
      if (run(each + mounts, fresh_folder()).exit_code == 0) return each;
    }
    return "";
  }
};

TEST_P(RanksWithAFullDisk, TrainOnAndRankZeroNamesTheOneWhoseRecordIsMissing) {
  const std::string unshared = unshare();
  if (unshared.empty()) GTEST_SKIP() << "this machine forbids mounting a tmpfs (unshare -rm)";
  const fs::path folder = fresh_folder();
  std::ofstream(folder / "monitor.yaml") << "loupe: 1\nranks: {store: \"file://" << (folder / "meeting").string()
                                         << "\"}\nrun: {name: mine, dir: mine}\nrun_program: {epoch: 5 steps}\n"
                                            "lenses: [output_norm, histograms]\nvisualizers: [console, record, html]\n";
  // A fault is sent with the next tick, so no rank begins its last epoch before rank 1 has failed.
  const std::string failed = (folder / "failed").string();
  const std::string see =
      "timeout 60 sh -c 'until grep -q failed out-1; do sleep 0.01; done; touch failed' 2>/dev/null";
  // Rank 1 has its folder on a separate disk, as on another machine.
  const auto rank = [&failed](int number) {
    const std::string out = "out-" + std::to_string(number);
    return "MASTER_ADDR=127.0.0.1 MASTER_PORT=1 RANK=" + std::to_string(number) + " WORLD_SIZE=3 timeout 60 " +
           loupe_run + "--config ../monitor.yaml -- " + LOUPE_TRAINERS + " waits " + failed + " > ../" + out +
           " 2>&1; echo $? > ../code-" + std::to_string(number);
  };
  fs::create_directories(folder / "big");
  fs::create_directories(folder / "full");
  const std::string pages = std::to_string(1 + GetParam());
  run("{ " + see + "; } & (cd big && { " + rank(0) + "; }) & (cd big && { " + rank(2) + "; }) & " + unshared +
          "sh -c 'mount -t tmpfs -o size=$((" + pages +
          " * $(getconf PAGESIZE))) tmpfs full && cd full && head -c 1 /dev/zero > other && { " + rank(1) +
          "; }; find mine -type f -size +0 > ../kept' & wait",
      folder);

  const std::string shown = text_of(folder / "out-0"), told = text_of(folder / "out-1");
  const std::string plain = run(LOUPE_TRAINERS + " waits " + failed, folder).output;
  for (int number = 0; number < 3; ++number)
    EXPECT_EQ(text_of(folder / ("code-" + std::to_string(number))), "0\n") << number << shown << told;
  EXPECT_EQ(text_of(folder / "out-2"), plain);
  EXPECT_NE(told.find(plain), std::string::npos) << told << "the trainer's results do not change";
  EXPECT_NE(shown.find(plain), std::string::npos) << shown;
  EXPECT_NE(told.find("loupe: error: rank 1: the visualizer 'record' failed"), std::string::npos) << told;
  const std::string missing = "rank 1: the visualizer 'record' failed: cannot write '";
  EXPECT_NE(shown.find("loupe: warning: " + missing), std::string::npos) << shown;
  EXPECT_NE(shown.find("No space left on device"), std::string::npos) << shown;
  const fs::path record = folder / "big/mine/record.jsonl";
  EXPECT_NE(text_of(record).find(missing), std::string::npos);
  EXPECT_NE(text_of(folder / "big/mine/report.html").find(missing), std::string::npos);
  // Rank 0 still shows the numbers of rank 1, which has no record.
  EXPECT_GT(events_of(folder / "big/mine/rank-2/record.jsonl"), 0);
  EXPECT_EQ(events_of(record), 3 * events_of(folder / "big/mine/rank-2/record.jsonl")) << shown << told;
  const std::string diagnosed = run(LOUPE_COMMAND + " diagnose big/mine", folder).output;
  EXPECT_NE(diagnosed.find("there is no record of rank 1"), std::string::npos) << diagnosed;
}

INSTANTIATE_TEST_SUITE_P(PagesLeft, RanksWithAFullDisk, testing::Values(0, 4));

}  // namespace
}  // namespace loupe::test
