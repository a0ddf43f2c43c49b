// `loupe compare` shows several records in one report, and runs of one name so that they can be told apart.

#include <gtest/gtest.h>

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
