// `loupe diagnose` shows what was wrong with past runs, and its exit code says whether there was an error.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "examples/process.h"
#include "paths.h"
#include "recorded_run.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;

Finished diagnose(const std::string& arguments, const fs::path& folder) {
  return run(LOUPE_COMMAND + " diagnose " + arguments, folder);
}

/// Writes a record of one epoch with these findings.
void record_findings(const std::string& folder, const std::vector<std::pair<Finding, std::string>>& findings) {
  Driver record(RECORD_PLUGIN);
  record.begin(folder);
  record.begin_tick(1);
  for (const auto& [finding, layer] : findings) tell(record, finding, layer);
  record.end_tick();
  tell_end(record, LOUPE_END_COMPLETED, 1);
}

class Diagnose : public testing::Test {
 protected:
  const fs::path folder = fresh_folder();
};

TEST_F(Diagnose, PrintsTheWorstFindingsFirstAndMarksResolvedOnes) {
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
            "  warning: conv1.weight: half of it is silent (dead_units, epochs 1 to 4)\n"
            "    → lower the learning rate\n"
            "  warning, resolved: conv2: it is slow (slow, epoch 1)\n"
            "  info: a?hint (hint, epoch 1)\n");
}

TEST_F(Diagnose, PrintsTheFindingsOfOneRuleTogether) {
  Finding vanishing = a_finding("vanishing_gradient", LOUPE_SEVERITY_ERROR, "it vanishes");
  vanishing.advice = "look at fc1";
  Finding other = vanishing;
  other.advice = "look at fc2";
  const Finding milder = a_finding("vanishing_gradient", LOUPE_SEVERITY_WARNING, "it fades");
  record_findings(folder, {{vanishing, "fc1"},
                           {other, "fc2"},
                           {vanishing, "fc3"},
                           {milder, "fc4"},
                           {a_finding("loss_spike", LOUPE_SEVERITY_WARNING, "train_loss jumps"), ""}});
  EXPECT_EQ(diagnose("record.jsonl", folder).output,
            "digits (record.jsonl): completed after epoch 1\n"
            "  error: fc1: it vanishes (vanishing_gradient, epoch 1)\n"
            "    also in fc2, fc3\n"
            "    → look at fc1\n"
            "  warning: fc4: it fades (vanishing_gradient, epoch 1)\n"
            "  warning: train_loss jumps (loss_spike, epoch 1)\n");
}

TEST_F(Diagnose, NamesTheLayerOfARuleThatIsWorstWhicheverWasToldFirst) {
  const auto dead = [](double share, const std::string& words) {
    Finding finding = a_finding("dead_units", LOUPE_SEVERITY_ERROR, words);
    finding.value = share;
    finding.threshold = 0.5;
    return finding;
  };
  record_findings(folder, {{dead(0.56, "56 % are silent"), "fc1"},
                           {a_finding("nan_loss", LOUPE_SEVERITY_ERROR, "the loss is NaN"), ""},
                           {dead(0.94, "94 % are silent"), "fc2"}});
  EXPECT_EQ(diagnose("record.jsonl", folder).output,
            "digits (record.jsonl): completed after epoch 1\n"
            "  error: fc2: 94 % are silent (dead_units, epoch 1)\n"
            "    also in fc1\n"
            "  error: the loss is NaN (nan_loss, epoch 1)\n");
}

TEST_F(Diagnose, NamesAFewOfARulesLayersHoweverManyThereAre) {
  std::vector<std::pair<Finding, std::string>> told;
  for (int i = 0; i < 500; ++i)
    told.emplace_back(a_finding("dead_units", LOUPE_SEVERITY_WARNING, "silent"), "fc" + std::to_string(i));
  record_findings(folder, told);
  EXPECT_EQ(diagnose("record.jsonl", folder).output,
            "digits (record.jsonl): completed after epoch 1\n"
            "  warning: fc0: silent (dead_units, epoch 1)\n"
            "    also in fc1, fc2, fc3, fc4, fc5, fc6 and 493 more (all of them: --json)\n");
}

TEST_F(Diagnose, LetsOpenFindingsLastToTheLastEpoch) {
  Driver record(RECORD_PLUGIN);
  record.begin(folder, true);
  tell(record, a_finding("chronic"), "fc");
  for (const int epoch : {1, 2, 3}) record.loss_tick(epoch, 1);
  tell_end(record, LOUPE_END_COMPLETED, 3);
  const Finished finished = diagnose("record.jsonl", folder);
  EXPECT_NE(finished.output.find("(chronic, epochs 1 to 3)"), std::string::npos) << finished.output;
}

TEST_F(Diagnose, ExitsWithOneIfThereWasAnError) {
  const Finding error = a_finding("nan_loss", LOUPE_SEVERITY_ERROR, "the loss is NaN");
  Finding milder = a_finding("nan_loss", LOUPE_SEVERITY_WARNING, "it was NaN once");
  milder.state = LOUPE_FINDING_CHANGED;
  record_findings(folder / "stands", {{error, ""}});
  record_findings(folder / "gone", {{error, ""}, {gone(error), ""}});
  record_findings(folder / "milder", {{error, ""}, {milder, ""}});
  Finding harmless = milder;
  harmless.severity = LOUPE_SEVERITY_INFO;
  record_findings(folder / "taken back", {{error, ""}, {harmless, ""}});
  EXPECT_EQ(diagnose("'taken back/record.jsonl'", folder).exit_code, 0) << "the error became an info";
  record_findings(folder / "twice", {{error, ""}, {gone(error), ""}, {error, ""}, {harmless, ""}});
  EXPECT_EQ(diagnose("twice/record.jsonl", folder).exit_code, 1) << "the error was raised before";
  record_findings(folder / "none", {});
  EXPECT_EQ(diagnose("stands/record.jsonl", folder).exit_code, 1);
  EXPECT_EQ(diagnose("gone/record.jsonl", folder).exit_code, 1);
  EXPECT_EQ(diagnose("milder/record.jsonl", folder).exit_code, 1);
  const Finished none = diagnose("none/record.jsonl", folder);
  EXPECT_EQ(none.exit_code, 0);
  EXPECT_EQ(none.output, "digits (none/record.jsonl): completed after epoch 1\n  no findings\n");
  EXPECT_ENDS(diagnose("none/record.jsonl stands/record.jsonl", folder), 1, "digits (stands/record.jsonl)");
}

TEST_F(Diagnose, AcceptsFoldersOfRunsAndTheirParents) {
  for (const char* run : {"sweep/b", "sweep/a"}) record_findings(folder / run, {});
  EXPECT_EQ(diagnose("sweep/b", folder).output,
            "digits (sweep/b/record.jsonl): completed after epoch 1\n  no findings\n");
  const std::string all = diagnose("sweep", folder).output;
  EXPECT_LT(all.find("sweep/a/record.jsonl"), all.find("sweep/b/record.jsonl")) << all;
  fs::create_directories(folder / "empty");
  const Finished none = diagnose("empty", folder);
  EXPECT_NE(none.exit_code, 0);
  EXPECT_NE(none.output.find("the folder 'empty' has no record.jsonl"), std::string::npos) << none.output;
}

TEST_F(Diagnose, FailsOnlyForFindingsThatAreNotKnown) {
  const Finding error = a_finding("nan_loss", LOUPE_SEVERITY_ERROR, "the loss is NaN");
  record_findings(folder / "old", {{error, "fc"}});
  record_findings(folder / "new", {{error, "fc"}, {a_finding("slow"), "conv"}});
  std::ofstream(folder / "known.json") << diagnose("old/record.jsonl --json", folder).output;
  EXPECT_EQ(diagnose("old/record.jsonl --baseline-findings known.json", folder).exit_code, 0);
  EXPECT_EQ(diagnose("new/record.jsonl --baseline-findings known.json", folder).exit_code, 1);
  std::ofstream(folder / "known.json") << diagnose("new/record.jsonl --json", folder).output;
  EXPECT_EQ(diagnose("new/record.jsonl --baseline-findings known.json", folder).exit_code, 0);
  EXPECT_ENDS(diagnose("new/record.jsonl --baseline-findings new/record.jsonl", folder), 2,
              "is not a list of findings");
  write(folder / "numberless.json", R"([{"rule": "slow", "layer": "conv"}])");
  EXPECT_ENDS(diagnose("new/record.jsonl --baseline-findings numberless.json", folder), 2,
              "has a finding without an id");
}

TEST_F(Diagnose, TellsRulesOfOneNameApartByTheirLensesAndSaysWhereInTheProgramToLook) {
  Driver record(RECORD_PLUGIN);
  record.begin(folder);
  record.begin_tick(1);
  Finding mine = a_finding("low_rank", LOUPE_SEVERITY_WARNING, "its rank is 2"), theirs = mine;
  mine.file = "net.cpp";
  mine.line = 120;
  theirs.message = "its rank is 3";
  tell(record, mine, "fc", "the lens 'mine'");
  tell(record, theirs, "conv", "the lens 'theirs'");
  tell(record, theirs, "fc", "the lens 'theirs'");
  tell(record, gone(theirs), "fc", "the lens 'theirs'");
  record.end_tick();
  tell_end(record, LOUPE_END_COMPLETED, 1);
  EXPECT_EQ(diagnose("record.jsonl", folder).output,
            "digits (record.jsonl): completed after epoch 1\n"
            "  warning: fc: its rank is 2 (net.cpp:120) (low_rank, epoch 1)\n"
            "    also in conv\n"
            "  warning, resolved: fc: its rank is 3 (low_rank, epoch 1)\n");
}

TEST_F(Diagnose, ResolvesFindingsFromBeforeAResumptionUnlessTheyAreFoundAgain) {
  record_findings(folder, {{a_finding("healed"), ""}, {a_finding("chronic"), ""}});
  Driver record(RECORD_PLUGIN);
  record.begin(folder, true);
  record.begin_tick(2);
  tell(record, a_finding("chronic"));
  record.end_tick();
  const Finished finished = diagnose("record.jsonl", folder);
  EXPECT_EQ(finished.output,
            "digits (record.jsonl): running or crashed after epoch 2: its folder has no lock that names a process\n"
            "  warning: something is odd (chronic, epochs 1 to 2)\n"
            "  warning, resolved: something is odd (healed, epoch 1)\n");
}

/// The text of a run folder's lock while this process, or an earlier one, holds it.
std::string lock_of(int process) {
  const std::string boot = text_of("/proc/sys/kernel/random/boot_id");
  return std::to_string(process) + " here " + boot.substr(0, boot.find('\n')) + "/" +
         fs::read_symlink("/proc/self/ns/pid").string() + "\n";
}

TEST_F(Diagnose, TellsByItsLockHowARunStandsWithoutAnEnd) {
  {
    Driver record(RECORD_PLUGIN);
    record.begin(folder);
    record.begin_tick(1);
    record.end_tick();
  }
  const auto ending = [&] {
    const std::string told = diagnose(".", folder).output;
    return told.substr(0, told.find('\n'));
  };
  EXPECT_EQ(ending().rfind("digits (./record.jsonl): running or crashed after epoch 1: ", 0), 0u) << ending();
  const fs::path lock = folder / ".loupe.lock";
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  std::ofstream(lock) << lock_of(child);
  EXPECT_EQ(ending(), "digits (./record.jsonl): crashed or killed after epoch 1: process " + std::to_string(child) +
                          " on here died without finishing");
  std::ofstream(lock) << lock_of(::getpid());
  const int held = ::open(lock.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(held, LOCK_EX | LOCK_NB), 0);
  EXPECT_EQ(ending(), "digits (./record.jsonl): running after epoch 1");
  ::close(held);
}

TEST_F(Diagnose, TellsWhatARunNotedOfItsRanks) {
  {
    Driver record(RECORD_PLUGIN);
    record.begin(folder);
    record.begin_tick(1);
    record.end_tick();
    tell_note(record, LOUPE_NOTE_RANKS, "rank 2 died", 1);
    tell_note(record, LOUPE_NOTE_COST, "it is slow", 1);
    tell_end(record, LOUPE_END_COMPLETED, 1);
  }
  EXPECT_EQ(diagnose("record.jsonl", folder).output,
            "digits (record.jsonl): completed after epoch 1\n  no findings\n  ranks: rank 2 died\n");
}

TEST_F(Diagnose, PrintsAnArrayOnRequest) {
  RunToRecord run;
  run.healthy = false;
  record_run(folder, run);
  record_findings(folder / "none", {});
  EXPECT_EQ(diagnose("none/record.jsonl --json", folder).output, "[]\n");
  const Finished finished = diagnose("--json record.jsonl none/record.jsonl", folder);
  EXPECT_EQ(finished.exit_code, 1);
  const auto rows = nlohmann::json::parse(finished.output);
  ASSERT_EQ(rows.size(), 2u);
  auto first = rows[0];
  EXPECT_EQ(first.at("id"), Driver::number_of("the lens 'health'", "nan_loss", nullptr, nullptr));
  first.erase("id");
  EXPECT_EQ(first, nlohmann::json::parse(R"({"record": "record.jsonl", "run": "digits", "rank": 0, "severity": "error",
      "worst_severity": "error", "gone": false, "rule": "nan_loss", "layer": null, "parameter": null,
      "message": "the loss \"train\" is NaN", "advice": null, "tag": null, "source": "the lens 'health'",
      "caused_by": null, "file": null, "file_line": 0, "value": null, "threshold": "Infinity", "first_step": 0,
      "last_step": 0, "first_epoch": 1.0, "last_epoch": 4.0, "count": 3})"));
  EXPECT_EQ(rows[1]["gone"], true);
  EXPECT_EQ(rows[1]["threshold"], 0.1 + 0.2);
}

TEST_F(Diagnose, SaysBesideNoFindingsWhatTheRunDidNotObserve) {
  Driver record(RECORD_PLUGIN);
  record.begin(folder);
  record.begin_tick(1);
  tell_note(record, LOUPE_NOTE_TRAINER, "a new phase", 1);
  tell_note(record, LOUPE_NOTE_UNOBSERVED, "not observed: any loss", 1);
  tell_note(record, LOUPE_NOTE_TRAINER, "not observed: a sunrise", 1);
  record.end_tick();
  tell_end(record, LOUPE_END_COMPLETED, 1);
  EXPECT_EQ(diagnose("record.jsonl", folder).output,
            "digits (record.jsonl): completed after epoch 1\n  no findings\n  not observed: any loss\n");
}

/// Writes a record of two epochs that the lens health watched, with these findings before the first tick.
void record_watched(const std::string& folder, const std::vector<Finding>& findings,
                    uint32_t end = LOUPE_END_COMPLETED) {
  Driver record(RECORD_PLUGIN);
  const std::string name = "digits";
  record.begin(Driver::run_of(folder, false, name, "loupe: 1\nlenses: [health]\n"));
  for (const Finding& each : findings) tell(record, each);
  for (const int epoch : {1, 2}) record.loss_tick(epoch, 1);
  if (end != 0) tell_end(record, end, 2);
}

TEST_F(Diagnose, CallsARunHealthyThatHealthWatched) {
  const auto said = [&](const std::vector<Finding>& findings, uint32_t end = LOUPE_END_COMPLETED) {
    const fs::path run = fresh_folder();
    record_watched(run, findings, end);
    const std::string text = diagnose(".", run).output;
    return text.substr(text.find('\n') + 1);
  };
  const std::string healthy = "  Training looks healthy. No problems found in 2 epochs.\n";
  const Finding dead = a_finding("dead_units"), hint = a_finding("hint", LOUPE_SEVERITY_INFO, "a hint");
  EXPECT_EQ(said({}), healthy);
  EXPECT_EQ(said({}, LOUPE_END_INTERRUPTED), healthy);
  EXPECT_EQ(said({}, 0), "  Training looks healthy so far. No problems found in 2 epochs.\n");
  EXPECT_EQ(said({hint}), healthy + "  info: a hint (hint, epochs 1 to 2)\n");
  EXPECT_EQ(said({dead, gone(dead)}).rfind("  Training looks healthy. All problems were resolved.\n", 0), 0u);
  EXPECT_EQ(said({dead}).find("healthy"), std::string::npos);
  EXPECT_EQ(said({}, LOUPE_END_FAILED), "  no findings\n");
}

TEST_F(Diagnose, SaysThatAnOlderRecordHasNoFindings) {
  write(folder / "old", R"({"kind":"run","format":2,"name":"old"})"
                        "\n");
  EXPECT_ENDS(diagnose("old", folder), 0, "was written before Loupe had findings");
}

TEST_F(Diagnose, ToleratesARecordThatWasCutOffAndRefusesAWrongOne) {
  record_findings(folder, {{a_finding("rule"), ""}});
  const std::string whole = read(folder / "record.jsonl");
  write(folder / "torn", whole + "{\"kind\":\"find");
  EXPECT_ENDS(diagnose("torn", folder), 0, "cut off");
  write(folder / "wrong", whole + "{\"kind\":\"finding\"}\n");
  const Finished wrong = diagnose("record.jsonl wrong", folder);
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_EQ(wrong.output.rfind("wrong:5: error: a line of the kind 'finding' lacks", 0), 0u) << wrong.output;
  EXPECT_EQ(diagnose("missing", folder).exit_code, 2);
  EXPECT_EQ(diagnose("", folder).exit_code, 2);
  EXPECT_EQ(diagnose("record.jsonl --jsn", folder).exit_code, 2);
}

/// A record of epochs with these training losses and this configuration.
std::string losses(const std::vector<std::string>& values, const std::string& lenses = "[loss_metrics]",
                   const std::string& more = "") {
  std::string text =
      R"({"kind":"run","format":3,"name":"digits","config":"loupe: 1\nlenses: )" + lenses + R"(\n"})" + "\n" + more;
  int epoch = 0;
  for (const std::string& value : values) {
    const std::string number = std::to_string(++epoch);
    text += R"({"kind":"value","epoch":)" + number +
            R"(,"tag":"Loss","layer":"Loss","line":"train_loss mean","value":)" + value + "}\n" +
            R"({"kind":"tick","epoch":)" + number + R"(,"step":)" + number + "0}\n";
  }
  return text;
}

std::vector<std::string> rules_in(const fs::path& folder, const std::string& record) {
  write(folder / "judged", record);
  std::vector<std::string> rules;
  for (const auto& row : nlohmann::json::parse(diagnose("judged --json", folder).output)) rules.push_back(row["rule"]);
  return rules;
}

using Names = std::vector<std::string>;

class DiagnoseByRules : public Diagnose {};

TEST_F(DiagnoseByRules, JudgesTheLossesOfARunThatHealthDidNotWatch) {
  write(folder / "grows", losses({"1.0", "0.9", "2.5"}));
  const Finished grows = diagnose("grows", folder);
  EXPECT_EQ(grows.exit_code, 1);
  const std::string rest = "  could not be judged:\n    ";
  const std::size_t at_rest = grows.output.find(rest);
  ASSERT_NE(at_rest, std::string::npos) << grows.output;
  EXPECT_EQ(
      grows.output.substr(0, at_rest),
      "digits (grows): running or crashed after epoch 3: its folder has no lock that names a process\n"
      "  error: the training loss grows: 2.5 in epoch 3, up from 0.9 in epoch 2 (diverging_loss, epoch 3)\n"
      "    → lower the learning rate or clip the gradients before the step; check that the loss is minimized, not "
      "maximized\n"
      "  the lens health did not watch this run; judged from its values: diverging_loss, loss_not_decreasing, "
      "loss_spike, non_finite, unbounded_loss\n");
  const std::string not_judged = grows.output.substr(at_rest + rest.size());
  for (const char* rule : {"gradients_not_cleared", "unregistered_module", "dead_units", "overfitting"})
    EXPECT_NE(not_judged.find(rule), std::string::npos) << not_judged;
  for (const char* rule : {"diverging_loss", "loss_not_decreasing", "loss_spike", "non_finite"})
    EXPECT_EQ(not_judged.find(rule), std::string::npos) << not_judged;
  EXPECT_EQ(rules_in(folder, losses({"1.0", "1.01", "1.0", "1.02"})), Names{"loss_not_decreasing"});
  EXPECT_EQ(rules_in(folder, losses({"1.0", "0.8", "0.7", "0.65"})), Names());
}

TEST_F(DiagnoseByRules, ReportsALossThatBecameNaNAsAnError) {
  EXPECT_EQ(rules_in(folder, losses({"1.0", "0.9", "\"NaN\""})), Names{"non_finite"});
  const std::string counted =
      R"({"kind":"value","epoch":3,"tag":"Non-Finite Values","layer":"Loss","line":"train_loss NaN","value":4})"
      "\n"
      R"({"kind":"tick","epoch":3})"
      "\n";
  EXPECT_EQ(rules_in(folder, losses({"1.0", "0.9"}) + counted), Names{"non_finite"});
}

TEST_F(DiagnoseByRules, SaysThatALossStaysNaNToTheEnd) {
  const std::vector<std::string> to_the_end = {"1.0", "\"NaN\"", "\"NaN\"", "\"NaN\"", "\"NaN\"", "\"NaN\"", "\"NaN\""};
  const std::vector<std::string> in_one = {"1.0", "\"NaN\"", "0.9", "0.8", "0.7", "0.6", "0.5"};
  const auto said = [&](const std::vector<std::string>& means) {
    write(folder / "judged", losses(means));
    return diagnose("judged", folder).output;
  };
  EXPECT_NE(said(to_the_end).find("error: the training loss is NaN"), std::string::npos) << said(to_the_end);
  EXPECT_NE(said(in_one).find("error, resolved: the training loss is NaN"), std::string::npos) << said(in_one);
}

TEST_F(DiagnoseByRules, DoesNotJudgeLossesThatTheLensHealthWatched) {
  const std::vector<std::string> grows = {"1.0", "0.9", "2.5"};
  EXPECT_EQ(rules_in(folder, losses(grows, "[health]")), Names());
  EXPECT_EQ(rules_in(folder, losses(grows, "[health: {diverging_factor: 50}]")), Names());
  // A configuration that Loupe cannot read names no lens.
  EXPECT_EQ(rules_in(folder, losses(grows, "[")), Names{"diverging_loss"});
  EXPECT_EQ(rules_in(folder, losses(grows, "[output_norm]\\nattach: {train_loss: other}")), Names());
}

TEST_F(DiagnoseByRules, DoesNotRepeatWhatTheRunFoundItself) {
  const std::string found =
      R"({"kind":"finding","epoch":1,"severity":"error","state":"raised","rule":"diverging_loss","message":"told then"})"
      "\n";
  write(folder / "record", losses({"1.0", "0.9", "2.5"}, "[health]", found));
  const auto rows = nlohmann::json::parse(diagnose("record --json", folder).output);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["message"], "told then");
}

TEST_F(DiagnoseByRules, ExpectsNoFallingLossOfModelsThatTrainAgainstEachOther) {
  const std::string models = R"({"kind":"model","name":"generator","type":"Net","parameters":10})"
                             "\n"
                             R"({"kind":"model","name":"critic","type":"Net","parameters":10})"
                             "\n";
  EXPECT_EQ(rules_in(folder, losses({"1.0", "1.5", "3", "4"}, "[loss_metrics]", models)), Names());
}

TEST_F(DiagnoseByRules, JudgesGradientsAndUpdatesInTheOrderOfTheModel) {
  const auto epochs = [](const std::string& tag, const std::vector<std::string>& values) {
    std::string text = R"({"kind":"model","name":"net","type":"Net","parameters":10,"modules":[)"
                       R"({"name":"norm","type":"BatchNorm1d"}]})"
                       "\n";
    for (const char* epoch : {"1", "2", "3", "4"}) {
      int layer = 0;
      text += std::string(R"({"kind":"value","epoch":)") + epoch + R"(,"tag":")" + tag +
              R"(","layer":"norm","line":"mean","value":1e-9})" + "\n";
      for (const std::string& value : values) {
        text += std::string(R"({"kind":"value","epoch":)") + epoch + R"(,"tag":")" + tag + R"(","layer":"fc)" +
                std::to_string(++layer) + R"(","line":"mean","value":)" + value + "}\n";
      }
      text += std::string(R"({"kind":"tick","epoch":)") + epoch + "}\n";
    }
    return text;
  };
  const std::string gradients = "Weight Gradient Norm";
  EXPECT_EQ(rules_in(folder, losses({}) + epochs(gradients, {"1e-6", "1e-3", "0.5"})), Names{"vanishing_gradient"});
  EXPECT_EQ(rules_in(folder, losses({}) + epochs(gradients, {"200", "20", "0.5"})), Names{"exploding_gradient"});
  EXPECT_EQ(rules_in(folder, losses({}) + epochs(gradients, {"0.4", "0.6", "0.5"})), Names());
  EXPECT_EQ(rules_in(folder, losses({}) + epochs("Weight Update Ratio", {"1e-3", "0.4"})), Names{"update_ratio"});
  EXPECT_EQ(rules_in(folder, losses({}) + epochs("Weight Update Ratio", {"1e-3", "2e-3"})), Names());
  // The lens itself judged more than means, so the rule is not applied to the record.
  EXPECT_EQ(rules_in(folder, losses({}, "[health]") + epochs(gradients, {"1e-6", "1e-3", "0.5"})), Names());
}

}  // namespace
}  // namespace loupe::test
