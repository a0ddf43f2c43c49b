// How `record` writes findings, notes, settings and a run's end.

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "driver.h"
#include "paths.h"

namespace loupe::test {
namespace {

using Json = nlohmann::json;

std::vector<Json> of_kind(const std::string& file, const std::string& kind) {
  std::vector<Json> found;
  for (const std::string& line : lines_of(read(file))) {
    Json json = Json::parse(line);
    if (json["kind"] == kind) found.push_back(std::move(json));
  }
  return found;
}

std::vector<std::string> kinds(const std::string& file) {
  std::vector<std::string> found;
  for (const std::string& line : lines_of(read(file))) found.push_back(Json::parse(line)["kind"]);
  return found;
}

TEST(Record, WritesAllMembersOfAFinding) {
  Begun record(RECORD_PLUGIN);
  record.begin_tick(3);
  Finding finding = a_finding("dead_units", LOUPE_SEVERITY_ERROR, "half of \"conv1\" is silent");
  finding.advice = "lower the learning rate";
  finding.parameter = "weight";
  finding.tag = "Rates";
  finding.value = INFINITY;
  finding.threshold = 0.1;
  finding.state = LOUPE_FINDING_CHANGED;
  finding.first_step = 5;
  finding.last_step = 9007199254740993;
  finding.first_epoch = 0.5;
  finding.last_epoch = 3;
  finding.count = 12;
  finding.id = 77;
  finding.caused_by = "no_step";
  finding.file = "net.cpp";
  finding.line = 120;
  EXPECT_EQ(tell(record, finding, "conv1", "the lens 'health'"), "");
  tell(record, a_finding("no_step", LOUPE_SEVERITY_INFO));
  record.end_tick();
  const auto found = of_kind(record / "record.jsonl", "finding");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0], Json::parse(R"({"kind": "finding", "epoch": 3, "severity": "error", "state": "changed",
      "id": 77, "rule": "dead_units", "layer": "conv1", "parameter": "weight", "message": "half of \"conv1\" is silent",
      "advice": "lower the learning rate", "tag": "Rates", "source": "the lens 'health'", "caused_by": "no_step",
      "file": "net.cpp", "file_line": 120, "value": "Infinity",
      "threshold": 0.1, "first_step": 5, "last_step": 9007199254740993, "first_epoch": 0.5, "last_epoch": 3.0,
      "count": 12})"));
  for (const char* absent :
       {"layer", "parameter", "advice", "tag", "source", "caused_by", "file", "value", "threshold"}) {
    EXPECT_TRUE(found[1].at(absent).is_null()) << absent;
  }
}

TEST(Record, WritesNotesSettingsAndHowTheRunEnded) {
  Begun record(RECORD_PLUGIN);
  record.hyperparameter("learning rate", 0.001);
  record.loss_tick(1, 1);
  tell_note(record, LOUPE_NOTE_COST, "the learning rate is now 0.1", 2);
  record.loss_tick(2, 1);
  EXPECT_EQ(tell_end(record, LOUPE_END_FAILED, 2, "out of memory"), "");
  const std::string file = record / "record.jsonl";
  EXPECT_EQ(kinds(file),
            (std::vector<std::string>{"run", "hyperparameter", "value", "tick", "note", "value", "tick", "end"}));
  EXPECT_EQ(of_kind(file, "hyperparameter")[0],
            Json::parse(R"({"kind": "hyperparameter", "name": "learning rate", "type": "number", "setting": 0.001})"));
  EXPECT_EQ(of_kind(file, "note")[0],
            Json::parse(R"({"kind": "note", "epoch": 2, "about": "cost", "step": 7, "finding": 0,
                "text": "the learning rate is now 0.1", "time": "2024-05-01T12:00:00Z", "timestamp": 1714564800.25, "elapsed": 0.25})"));
  EXPECT_EQ(of_kind(file, "end")[0],
            Json::parse(R"({"kind": "end", "epoch": 2, "how": "failed", "step": 120, "message": "out of memory",
                "time": "2024-05-01T12:03:19Z", "timestamp": 1714564999.5, "elapsed": 199.5})"));
}

TEST(Record, WritesTheTimeAndReasonOfATick) {
  Begun record(RECORD_PLUGIN);
  loupe_tick tick{};
  tick.struct_size = sizeof tick;
  tick.reason = LOUPE_TICK_STEPS;
  tick.flags = LOUPE_TICK_INCOMPLETE;
  tick.at.epoch = 0.25;
  tick.at.step = 400;
  tick.at.time = 1714564800.125;
  tick.at.elapsed = 3.5;
  record.tell(&loupe_visualizer::begin_tick, tick);
  record.end_tick();
  EXPECT_EQ(of_kind(record / "record.jsonl", "tick")[0],
            Json::parse(R"({"kind": "tick", "epoch": 0.25, "time": "2024-05-01T12:00:00Z", "timestamp": 1714564800.125,
                            "elapsed": 3.5, "step": 400, "reason": "steps", "incomplete": true,
                            "steps": 0, "measured_steps": 0})"));
}

TEST(Record, WritesAFindingBetweenTicksImmediately) {
  Begun record(RECORD_PLUGIN);
  record.loss_tick(1, 1);
  Finding finding = a_finding("nan_loss", LOUPE_SEVERITY_ERROR);
  finding.last_epoch = 2;
  tell(record, finding);
  const auto found = of_kind(record / "record.jsonl", "finding");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0]["epoch"], 2);
  tell(record, gone(finding));
  EXPECT_EQ(of_kind(record / "record.jsonl", "finding").size(), 1u);
  record.flush();
  EXPECT_EQ(of_kind(record / "record.jsonl", "finding").size(), 2u);
}

TEST(Record, IsAppendedAfterTheEndAndTheLastWordsOfTheEarlierRun) {
  const Folder folder;
  const std::string file = folder / "record.jsonl";
  const auto first_part = [&](bool unfinished) {
    std::filesystem::remove(file);
    Driver record(RECORD_PLUGIN);
    record.begin(folder.text());
    record.loss_tick(1, 1);
    if (unfinished) tell_note(record, LOUPE_NOTE_TRAINER, "in epoch 2", 2);
    tell_end(record, LOUPE_END_INTERRUPTED, 1);
  };
  first_part(false);
  Driver record(RECORD_PLUGIN);
  record.begin(folder.text(), true);
  tell_note(record, LOUPE_NOTE_TRAINER, "on again", 2);  // the epoch from which the run continues is not known yet
  record.loss_tick(2, 1);
  EXPECT_EQ(kinds(file), (std::vector<std::string>{"run", "value", "tick", "end", "run", "note", "value", "tick"}));
  EXPECT_EQ(record.messages, std::vector<std::string>{});

  first_part(true);
  Driver again(RECORD_PLUGIN);
  again.begin(folder.text(), true);
  again.loss_tick(2, 1);
  EXPECT_EQ(kinds(file), (std::vector<std::string>{"run", "value", "tick", "note", "end", "run", "value", "tick"}));
  EXPECT_EQ(again.messages, std::vector<std::string>{});
}

TEST(Record, LosesNoEpochIfAResumedRunEndsBeforeItsFirstTick) {
  const Folder folder;
  {
    Driver record(RECORD_PLUGIN);
    record.begin(folder.text());
    for (int epoch = 1; epoch <= 3; ++epoch) record.loss_tick(epoch, epoch);
  }
  Driver record(RECORD_PLUGIN);
  record.begin(folder.text(), true);
  tell(record, a_finding("bad_start"));
  tell_end(record, LOUPE_END_FAILED, 0);
  EXPECT_EQ(of_kind(folder / "record.jsonl", "tick").size(), 3u);
  EXPECT_EQ(of_kind(folder / "record.jsonl", "finding").size(), 1u);
  EXPECT_EQ(kinds(folder / "record.jsonl").back(), "end");
}

}  // namespace
}  // namespace loupe::test
