// `loupe diagnose` says what was wrong with past runs, and by its exit code whether there was an error.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "examples/process.h"
#include "recorded_run.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;

Finished diagnose(const std::string& arguments, const fs::path& folder) {
  return run(std::string(LOUPE_COMMAND) + " diagnose " + arguments, folder);
}

/// A record of one epoch with these findings in it.
void record_findings(const std::string& folder, const std::vector<std::pair<Finding, std::string>>& findings) {
  Driver record(RECORD_PLUGIN);
  record.begin(folder);
  record.begin_tick(1);
  for (const auto& [finding, layer] : findings) tell(record, finding, layer);
  record.end_tick();
  tell_end(record, LOUPE_END_COMPLETED, 1);
}

TEST(Diagnose, TellsFindingsTheWorstFirstAndMarksThoseThatAreGone) {
  const fs::path folder = fresh_folder();
  Finding dead = a_finding("dead_units", LOUPE_SEVERITY_WARNING, "half of it is silent");
  dead.parameter = "weight";
  dead.advice = "lower the learning rate";
  dead.last_epoch = 4;
  dead.count = 3;
  Finding over = gone(a_finding("slow", LOUPE_SEVERITY_WARNING, "now it is fast"));
  record_findings(folder, {{a_finding("hint", LOUPE_SEVERITY_INFO, "a\x1bhint"), ""},
                           {a_finding("slow", LOUPE_SEVERITY_WARNING, "it is slow"), "conv2"},
                           {over, "conv2"},
                           {dead, "conv1"}});
  const Finished finished = diagnose("record.jsonl", folder);
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.output,
            "digits (record.jsonl): completed after epoch 1\n"
            "  warning: conv1.weight: half of it is silent (dead_units, epochs 1 to 4, seen 3 times)\n"
            "    advice: lower the learning rate\n"
            "  warning, gone: conv2: it is slow (slow, epoch 1)\n"
            "  info: a?hint (hint, epoch 1)\n");
}

TEST(Diagnose, ExitsWithOneWhereAnErrorStandsOrStood) {
  const fs::path folder = fresh_folder();
  const Finding error = a_finding("nan_loss", LOUPE_SEVERITY_ERROR, "the loss is NaN");
  Finding milder = a_finding("nan_loss", LOUPE_SEVERITY_WARNING, "it was NaN once");
  milder.state = LOUPE_FINDING_CHANGED;
  record_findings(folder / "stands", {{error, ""}});
  record_findings(folder / "gone", {{error, ""}, {gone(error), ""}});
  record_findings(folder / "milder", {{error, ""}, {milder, ""}});
  record_findings(folder / "none", {});
  EXPECT_EQ(diagnose("stands/record.jsonl", folder).exit_code, 1);
  EXPECT_EQ(diagnose("gone/record.jsonl", folder).exit_code, 1);
  EXPECT_EQ(diagnose("milder/record.jsonl", folder).exit_code, 1);
  const Finished none = diagnose("none/record.jsonl", folder);
  EXPECT_EQ(none.exit_code, 0);
  EXPECT_EQ(none.output, "digits (none/record.jsonl): completed after epoch 1\n  no findings\n");
  const Finished both = diagnose("none/record.jsonl stands/record.jsonl", folder);
  EXPECT_EQ(both.exit_code, 1);
  EXPECT_NE(both.output.find("digits (stands/record.jsonl)"), std::string::npos) << both.output;
}

TEST(Diagnose, TakesWhatStoodBeforeARunWentOnForGoneUnlessItIsFoundAgain) {
  const fs::path folder = fresh_folder();
  record_findings(folder, {{a_finding("healed"), ""}, {a_finding("chronic"), ""}});
  Driver record(RECORD_PLUGIN);
  record.begin(folder, true);
  record.begin_tick(2);
  tell(record, a_finding("chronic"));
  record.end_tick();
  const Finished finished = diagnose("record.jsonl", folder);
  EXPECT_EQ(finished.output,
            "digits (record.jsonl): running, or stopped without a word, after epoch 2\n"
            "  warning: something is odd (chronic, epoch 1)\n"
            "  warning, gone: something is odd (healed, epoch 1)\n");
}

TEST(Diagnose, GivesAnArrayOnRequest) {
  const fs::path folder = fresh_folder();
  RunToRecord run;
  run.healthy = false;
  record_run(folder, run);
  record_findings(folder / "none", {});
  EXPECT_EQ(diagnose("none/record.jsonl --json", folder).output, "[]\n");
  const Finished finished = diagnose("--json record.jsonl none/record.jsonl", folder);
  EXPECT_EQ(finished.exit_code, 1);
  const auto rows = nlohmann::json::parse(finished.output);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0], nlohmann::json::parse(R"({"record": "record.jsonl", "run": "digits", "severity": "error",
      "worst_severity": "error", "gone": false, "rule": "nan_loss", "layer": null, "parameter": null,
      "message": "the loss \"train\" is NaN", "advice": null, "tag": null, "source": "the lens 'health'",
      "value": null, "threshold": "Infinity", "first_step": 0, "last_step": 0, "first_epoch": 1.0, "last_epoch": 4.0,
      "count": 3})"));
  EXPECT_EQ(rows[1]["gone"], true);
  EXPECT_EQ(rows[1]["threshold"], 0.1 + 0.2);
}

TEST(Diagnose, SaysOfAnOlderRecordThatItHasNone) {
  const fs::path folder = fresh_folder();
  write(folder / "old", R"({"kind":"run","format":2,"name":"old"})"
                        "\n");
  const Finished finished = diagnose("old", folder);
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_NE(finished.output.find("older than findings are"), std::string::npos) << finished.output;
}

TEST(Diagnose, ToleratesARecordThatWasCutOffAndRefusesAWrongOne) {
  const fs::path folder = fresh_folder();
  record_findings(folder, {{a_finding("rule"), ""}});
  const std::string whole = read(folder / "record.jsonl");
  write(folder / "torn", whole + "{\"kind\":\"find");
  const Finished torn = diagnose("torn", folder);
  EXPECT_EQ(torn.exit_code, 0);
  EXPECT_NE(torn.output.find("cut off"), std::string::npos) << torn.output;
  write(folder / "wrong", whole + "{\"kind\":\"finding\"}\n");
  const Finished wrong = diagnose("record.jsonl wrong", folder);
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_EQ(wrong.output.rfind("wrong:5: error: a line of the kind 'finding' lacks", 0), 0u) << wrong.output;
  EXPECT_EQ(diagnose("missing", folder).exit_code, 2);
  EXPECT_EQ(diagnose("", folder).exit_code, 2);
  EXPECT_EQ(diagnose("record.jsonl --jsn", folder).exit_code, 2);
}

}  // namespace
}  // namespace loupe::test
