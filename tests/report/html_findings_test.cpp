// Texts of a run that the HTML report keeps: findings, messages and settings.

#include "holds.h"
#include "paths.h"
#include "report/html_page.h"
#include "visualizers/driver.h"

#include <gtest/gtest.h>
#include <loupe/detail/option_values.h>

#include <cmath>

namespace loupe::test {
namespace {

loupe_finding dead_units(uint32_t state, uint32_t severity, uint64_t count) {
  loupe_finding finding{};
  finding.struct_size = sizeof finding;
  finding.severity = severity;
  finding.state = state;
  finding.rule = "dead_units";
  finding.layer = "fc1";
  finding.message = "40 % of the units are silent.";
  finding.advice = "Lower the learning rate.";
  finding.tag = "Output Activations";
  finding.id = 7;
  finding.caused_by = "no_step";
  finding.file = "net.cpp";
  finding.line = 120;
  finding.first_step = 120;
  finding.last_step = 180;
  finding.first_epoch = 2;
  finding.last_epoch = 3;
  finding.count = count;
  return finding;
}

TEST(HtmlReport, HoldsWhatWasFound) {
  Begun html(HTML_PLUGIN);
  EXPECT_EQ(html.finding(dead_units(LOUPE_FINDING_RAISED, LOUPE_SEVERITY_WARNING, 4)), "");
  html.stored_loss_tick(2, 1);
  EXPECT_EQ(HtmlPage(html / "report.html").run(0).at("findings"), nlohmann::json::parse(R"([{
    "id": 7, "rule": "dead_units", "layer": "fc1", "parameter": null, "severity": 2, "distance": 0, "gone": false,
    "message": "40 % of the units are silent.", "advice": "Lower the learning rate.", "tag": "Output Activations",
    "source": null, "causedBy": "no_step", "file": "net.cpp", "line": 120, "firstStep": 120,
    "lastStep": 180, "firstEpoch": 2.0, "lastEpoch": 3.0, "count": 4}])"));
}

TEST(HtmlReport, ReplacesAFindingThatIsReportedAgain) {
  Begun html(HTML_PLUGIN);
  html.finding(dead_units(LOUPE_FINDING_RAISED, LOUPE_SEVERITY_WARNING, 4));
  html.finding(dead_units(LOUPE_FINDING_CHANGED, LOUPE_SEVERITY_ERROR, 5));
  loupe_finding other = dead_units(LOUPE_FINDING_RAISED, LOUPE_SEVERITY_INFO, 1);
  other.id = 8;
  other.layer = "fc2";
  html.finding(other);
  html.flush();
  auto findings = HtmlPage(html / "report.html").run(0).at("findings");
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].at("severity"), LOUPE_SEVERITY_ERROR);
  EXPECT_EQ(findings[0].at("count"), 5);
  EXPECT_EQ(findings[1].at("layer"), "fc2");
  html.finding(dead_units(LOUPE_FINDING_GONE, LOUPE_SEVERITY_ERROR, 5));
  html.flush();
  findings = HtmlPage(html / "report.html").run(0).at("findings");
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].at("gone"), true);
}

TEST(HtmlReport, ShowsAnErrorBeforeTheEpochEnds) {
  Folder folder;
  {
    Driver html(HTML_PLUGIN);
    html.begin(folder.text());
    html.stored_loss_tick(1, 1);
    html.finding(dead_units(LOUPE_FINDING_RAISED, LOUPE_SEVERITY_ERROR, 1));
  }
  EXPECT_EQ(HtmlPage(folder / "report.html").run(0).at("findings").size(), 1u);
}

TEST(HtmlReport, LosesNothingIfAnErrorCannotBeShownBeforeTheEpochEnds) {
  Begun html(HTML_PLUGIN);
  std::filesystem::create_directory(html / "report.html");
  html.finding(dead_units(LOUPE_FINDING_RAISED, LOUPE_SEVERITY_ERROR, 1));
  EXPECT_NE(html.stored_loss_tick(1, 1), "");
  std::filesystem::remove(html / "report.html");
  EXPECT_EQ(html.stored_loss_tick(2, 1), "");
  const HtmlPage page(html / "report.html");
  EXPECT_EQ(page.run(0).at("findings").size(), 1u);
  EXPECT_EQ(page.epochs(), (std::vector<double>{1, 2}));
}

TEST(HtmlReport, KeepsTheLastThousandNotesInOrder) {
  Begun html(HTML_PLUGIN);
  html.note(LOUPE_NOTE_TRAINER, "switched the data", 60, 1);
  html.note(LOUPE_NOTE_QUARANTINE, "a lens is put aside", 61, 1);
  html.flush();
  auto run = HtmlPage(html / "report.html").run(0);
  EXPECT_EQ(run.at("notes"), nlohmann::json::parse(R"([
    {"kind": "trainer", "text": "switched the data", "step": 60, "epoch": 1.0, "time": "2024-05-01T12:01:00Z",
     "finding": 0},
    {"kind": "quarantine", "text": "a lens is put aside", "step": 61, "epoch": 1.0, "time": "2024-05-01T12:01:00Z",
     "finding": 0}])"));
  for (int i = 0; i < 1000; ++i) html.note(LOUPE_NOTE_TRAINER, std::to_string(i), 62, 1);
  html.flush();
  run = HtmlPage(html / "report.html").run(0);
  EXPECT_EQ(run.at("notes").size(), 1000u);
  EXPECT_EQ(run.at("notes").at(0).at("text"), "0");
  EXPECT_EQ(run.at("lostNotes"), 2);
}

TEST(HtmlReport, HoldsTheHyperparametersOfTheRun) {
  Begun html(HTML_PLUGIN);
  html.hyperparameter("learning_rate", 0.01);
  html.hyperparameter("optimizer", "Adam");
  html.hyperparameter("learning_rate", 0.001);
  loupe_option_value value{};
  value.struct_size = sizeof value;
  value.name = "nesterov";
  value.type = LOUPE_TYPE_BOOLEAN;
  value.integer = 1;
  html.hyperparameter(value);
  value.name = "batch_size";
  value.type = LOUPE_TYPE_INTEGER;
  value.integer = 64;
  html.hyperparameter(value);
  const char* const names[] = {"flip", "crop"};
  value.name = "augmentations";
  value.type = LOUPE_TYPE_STRINGS;
  value.strings = names;
  value.string_count = 2;
  html.hyperparameter(value);
  html.flush();
  EXPECT_EQ(HtmlPage(html / "report.html").run(0).at("hyperparameters"), nlohmann::json::parse(R"([
    ["learning_rate", "0.001"], ["optimizer", "Adam"], ["nesterov", "true"], ["batch_size", "64"],
    ["augmentations", "flip, crop"]])"));
}

TEST(HtmlReport, HoldsTheSettingsOfTheConfigurationByName) {
  Folder folder;
  Driver html(HTML_PLUGIN);
  OptionValues settings{{"lenses.geometry.range", Strings{"std", "min-max"}},
                        {"lenses.health", true},
                        {"loupe", "1"},
                        {"run.dir", "b"},
                        {"run.name", "a"},
                        {"run.tick.steps", "500"}};
  const std::string directory = folder.text(), name = "run";
  settings.lend([&](const loupe_options* lent) {
    loupe_run run = Driver::run_of(directory, false, name);
    run.settings = lent;
    html.begin(run);
  });
  html.stored_loss_tick(1, 1);
  // The report leaves out settings that differ in every run.
  EXPECT_EQ(HtmlPage(folder / "report.html").run(0).at("settings"), nlohmann::json::parse(R"([
    ["lenses.geometry.range", "std, min-max"], ["lenses.health", "true"], ["run.tick.steps", "500"]])"));
}

TEST(HtmlReport, HoldsNoSettingsIfTheHostHasNone) {
  Begun html(HTML_PLUGIN);
  html.stored_loss_tick(1, 1);
  EXPECT_EQ(HtmlPage(html / "report.html").run(0).at("settings"), nlohmann::json::array());
}

TEST(HtmlReport, NamesTheGivenBaselineOrNone) {
  Folder folder;
  {
    Driver html(HTML_PLUGIN, {{"baseline", "</script>"}});
    html.begin(folder.text());
    html.stored_loss_tick(1, 1);
  }
  EXPECT_TRUE(holds(HtmlPage(folder / "report.html").text(), R"(id="report">{"baseline":"\u003c/script>"}</script>)"));
  Driver html(HTML_PLUGIN);
  html.begin(folder.text());
  html.stored_loss_tick(1, 1);
  EXPECT_FALSE(holds(HtmlPage(folder / "report.html").text(), "id=\"report\""));
}

TEST(HtmlReport, SaysHowTheRunEnded) {
  Begun html(HTML_PLUGIN);
  html.stored_loss_tick(1, 1);
  EXPECT_EQ(HtmlPage(html / "report.html").run(0).at("ending"), nullptr);
  EXPECT_EQ(HtmlPage(html / "report.html").run(0).at("state"), "running");
  html.end(LOUPE_END_FAILED, "The loss is NaN.", 75);
  const auto run = HtmlPage(html / "report.html").run(0);
  EXPECT_EQ(run.at("ending"), nlohmann::json::parse(R"({"step": 75, "epoch": 0.0})"));
  EXPECT_EQ(run.at("state"), "failed");
  EXPECT_EQ(run.at("why"), "The loss is NaN.");
}

TEST(HtmlReport, CallsARunFailedWhoseLossWasNaNToTheEnd) {
  const auto ended = [](double last) {
    Begun html(HTML_PLUGIN);
    html.loss_tick(1, 1);
    html.loss_tick(2, NAN);
    html.loss_tick(3, last);
    html.end(LOUPE_END_COMPLETED);
    return HtmlPage(html / "report.html").run(0);
  };
  EXPECT_EQ(ended(NAN).at("state"), "failed");
  EXPECT_TRUE(holds(ended(NAN).at("why").get<std::string>(), "train_loss"));
  EXPECT_EQ(ended(0.5).at("state"), "completed");
}

TEST(HtmlReport, KeepsARunWithFindingsButWithoutEpochs) {
  Folder folder;
  Driver html(HTML_PLUGIN);
  html.begin(folder.text(), false, "broken");
  html.finding(dead_units(LOUPE_FINDING_RAISED, LOUPE_SEVERITY_ERROR, 1));
  html.end(LOUPE_END_FAILED);
  html.begin(folder.text(), false, "whole");
  html.stored_loss_tick(1, 1);
  const HtmlPage page(folder / "report.html");
  ASSERT_EQ(page.run_count(), 2u);
  EXPECT_EQ(page.run(0).at("name"), "broken");
  EXPECT_EQ(page.run(0).at("findings").size(), 1u);
}

}  // namespace
}  // namespace loupe::test
