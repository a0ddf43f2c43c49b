#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

#include "../holds.h"
#include "driver.h"
#include "paths.h"

namespace loupe::test {
namespace {

using Json = nlohmann::json;

std::vector<Json> records(const std::string& file) {
  std::vector<Json> found;
  for (const std::string& line : lines_of(read(file))) found.push_back(Json::parse(line));
  return found;
}

std::vector<double> epochs_of(const std::string& file, const std::string& kind) {
  std::vector<double> epochs;
  for (const Json& record : records(file)) {
    if (record["kind"] == kind) epochs.push_back(record["epoch"]);
  }
  return epochs;
}

TEST(Record, TellsTheRunTheTagsAndAnEpochOneLineEach) {
  const Folder folder;
  Driver record(RECORD_PLUGIN);
  EXPECT_EQ(record.begin(folder.text()), "");
  EXPECT_EQ(record.tag("Loss", LOUPE_SCALE_NUMERICAL, true, true), "");
  EXPECT_EQ(record.tag("Loss", LOUPE_SCALE_NUMERICAL, true, true), "");
  record.tag("Rates", LOUPE_SCALE_PROBABILITY);
  record.begin_tick(1);
  record.value("Loss", "Loss", "train_loss mean", 1.25, 96);
  record.range("Loss", "Loss", "train_loss min", "train_loss max", 0.5, 2);
  record.histogram("Rates", "conv1", "activations", {0, 1, 2}, {3, 4});
  EXPECT_EQ(record.end_tick(), "");

  const auto found = records(folder / "record.jsonl");
  ASSERT_EQ(found.size(), 7u);
  EXPECT_EQ(found[0]["kind"], "run");
  EXPECT_EQ(found[0]["name"], "digits");
  EXPECT_EQ(found[0]["config"], "loupe: 1\n");
  EXPECT_EQ(found[0]["loupe_version"], "1.0.0");
  EXPECT_EQ(found[0]["framework_version"], "1.13.1");
  EXPECT_EQ(found[0]["started"], "2024-05-01T12:00:00Z");
  EXPECT_EQ(found[0]["resumed"], false);
  EXPECT_EQ(found[1], Json::parse(R"({"kind": "tag", "tag": "Loss", "type": "numerical", "log_y": true, "big": true,
                                      "annotate": false, "y_minimum": null, "y_maximum": null})"));
  EXPECT_EQ(found[2]["type"], "probability");
  EXPECT_EQ(found[3], Json::parse(R"({"kind": "value", "epoch": 1, "tag": "Loss", "layer": "Loss",
                                      "line": "train_loss mean", "value": 1.25, "events": 96})"));
  EXPECT_EQ(found[4], Json::parse(R"({"kind": "range", "epoch": 1, "tag": "Loss", "layer": "Loss",
      "low_name": "train_loss min", "high_name": "train_loss max", "low": 0.5, "high": 2.0})"));
  EXPECT_EQ(found[5], Json::parse(R"({"kind": "histogram", "epoch": 1, "tag": "Rates", "layer": "conv1",
                                      "line": "activations", "edges": [0.0, 1.0, 2.0], "counts": [3.0, 4.0]})"));
  EXPECT_EQ(found[6]["kind"], "tick");
  EXPECT_EQ(found[6]["epoch"], 1);
  EXPECT_EQ(found[6]["time"].get<std::string>().size(), std::string("2024-05-01T12:00:00Z").size());
}

TEST(Record, WritesTheStepOfANumberAndTheNumberOfStepsOfATick) {
  Begun record(RECORD_PLUGIN);
  record.begin_tick(1);
  record.value("Loss", "Loss", "train_loss", 1.25, 0, 7);
  record.value("Loss", "Loss", "train_loss", 1);
  record.end_tick();
  const auto found = records(record / "record.jsonl");
  EXPECT_EQ(found[1]["step"], 7);
  EXPECT_FALSE(found[2].contains("step"));
  EXPECT_EQ(found[3]["steps"], 0);
  EXPECT_EQ(found[3]["measured_steps"], 0);
}

TEST(Record, WritesAHistogramWithoutALayerSoThatReadersAcceptIt) {
  Begun record(RECORD_PLUGIN);
  record.begin_tick(1);
  record.histogram("T", "", "h", {0, 1, 2}, {3, 4});
  record.end_tick();
  for (const Json& line : records(record / "record.jsonl")) {
    if (line["kind"] == "histogram") {
      EXPECT_TRUE(line["layer"].is_string()) << line;
    }
  }
}

TEST(Record, KeepsEveryBitOfANumberAndWritesNaNAndInfAsNames) {
  Begun record(RECORD_PLUGIN);
  record.begin_tick(1);
  const std::vector<double> numbers = {0.1,
                                       1.0 / 3,
                                       std::numeric_limits<double>::denorm_min(),
                                       std::numeric_limits<double>::max(),
                                       -0.0,
                                       123456789.123456789};
  for (const double number : numbers) record.value("T", "l", "mean", number);
  record.value("T", "l", "mean", NAN);
  record.value("T", "l", "mean", INFINITY);
  record.histogram("T", "l", "h", {-INFINITY, 0, INFINITY}, {1, 2});
  record.end_tick();

  const auto found = records(record / "record.jsonl");
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double read_back = found[i + 1]["value"];
    EXPECT_EQ(std::memcmp(&read_back, &numbers[i], sizeof(double)), 0) << numbers[i];
  }
  EXPECT_EQ(found[7]["value"], "NaN");
  EXPECT_EQ(found[8]["value"], "Infinity");
  EXPECT_EQ(found[9]["edges"], Json::parse(R"(["-Infinity", 0.0, "Infinity"])"));
}

TEST(Record, SurvivesNamesThatAreNotText) {
  const Folder folder;
  Driver record(RECORD_PLUGIN);
  record.begin(folder.text(), false, "a\"b\n");
  record.model("net\xff", 10);
  record.begin_tick(1);
  EXPECT_EQ(record.value("T", "bad\xff", "σ\t", 1), "");
  EXPECT_EQ(record.end_tick(), "");
  const auto found = records(folder / "record.jsonl");
  EXPECT_EQ(found[0]["name"], "a\"b\n");
  EXPECT_EQ(found[1]["name"], "net\xEF\xBF\xBD");
  EXPECT_EQ(found[2]["layer"], "bad\xEF\xBF\xBD");
  EXPECT_EQ(found[2]["line"], "σ\t");
}

TEST(Record, HasOnlyWholeEpochsDuringAnEpoch) {
  Begun record(RECORD_PLUGIN);
  record.loss_tick(1, 3);
  const std::string whole = read(record / "record.jsonl");
  record.begin_tick(2);
  record.value("Loss", "Loss", "train_loss mean", 2);
  EXPECT_EQ(read(record / "record.jsonl"), whole);
  record.end_tick();
  EXPECT_EQ(read(record / "record.jsonl").substr(0, whole.size()), whole);
  EXPECT_EQ(epochs_of(record / "record.jsonl", "tick"), (std::vector<double>{1, 2}));
}

TEST(Record, WritesATagOfALaterEpochBeforeItsFirstValue) {
  Begun record(RECORD_PLUGIN);
  record.tag("Loss");
  record.loss_tick(1, 3);
  record.begin_tick(2);
  record.tag("New");
  record.value("New", "l", "mean", 2);
  record.end_tick();
  std::vector<std::string> kinds;
  for (const Json& found : records(record / "record.jsonl")) kinds.push_back(found["kind"]);
  EXPECT_EQ(kinds, (std::vector<std::string>{"run", "tag", "value", "tick", "tag", "value", "tick"}));
}

TEST(Record, KeepsTheEarlierRecordUntilItHasAnEpoch) {
  const Folder folder;
  write(folder / "record.jsonl", "precious\n");
  {
    Driver record(RECORD_PLUGIN);
    record.begin(folder.text());
    record.tag("Loss");
    record.end();
  }
  EXPECT_EQ(read(folder / "record.jsonl"), "precious\n");
}

TEST(Record, DropsAnEpochThatAKilledProcessLeftHalfWritten) {
  const Folder folder;
  {
    Driver record(RECORD_PLUGIN);
    record.begin(folder.text());
    for (int epoch = 1; epoch <= 2; ++epoch) record.loss_tick(epoch, epoch);
  }
  const std::string whole = read(folder / "record.jsonl");
  const std::string half = R"({"kind":"value","epoch":3,"tag":"Loss","layer":"Loss","line":"m","value":1.0})";
  write(folder / "record.jsonl", whole + half + "\n" + half.substr(0, 20));
  Driver record(RECORD_PLUGIN);
  record.begin(folder.text(), true);
  record.loss_tick(4, 4);
  EXPECT_EQ(epochs_of(folder / "record.jsonl", "value"), (std::vector<double>{1, 2, 4}));
  EXPECT_EQ(read(folder / "record.jsonl").substr(0, whole.size()), whole);
  ASSERT_EQ(record.messages.size(), 1u);
  EXPECT_TRUE(holds(record.messages[0], "a last line that was cut off"));
}

TEST(Record, DropsLaterEpochsThatAreBeforeEarlierOnes) {
  const Folder folder;
  {
    Driver record(RECORD_PLUGIN);
    record.begin(folder.text());
    for (const int epoch : {1, 7, 2}) record.loss_tick(epoch, epoch);
  }
  Driver record(RECORD_PLUGIN);
  record.begin(folder.text(), true);
  record.loss_tick(3, 3);
  EXPECT_EQ(epochs_of(folder / "record.jsonl", "value"), (std::vector<double>{1, 2, 3}));
}

TEST(Record, ContinuesAfterLinesOfAnotherProgram) {
  const Folder folder;
  const std::string other =
      "{ \"kind\": \"run\", \"name\": {\"epoch\": 9} }\n{\"epoch\": 1.0, \"value\": 2, \"kind\": \"value\"}\n"
      "{\"time\": \"\", \"kind\": \"tick\", \"epoch\": 1}\n";
  write(folder / "record.jsonl", other + "{\"kind\": \"tick\", \"epoch\": 2}\nno JSON\n");
  Driver record(RECORD_PLUGIN);
  record.begin(folder.text(), true);
  record.loss_tick(2, 2);
  EXPECT_EQ(read(folder / "record.jsonl").substr(0, other.size()), other);
  EXPECT_EQ(lines_of(read(folder / "record.jsonl")).size(), 6u);
}

TEST(Record, IsCompressedOnceItHasSixteenMebibytesAndIsGoneOnWithWhenResumed) {
  const Folder folder;
  const auto long_tick = [](Driver& record, int epoch) {
    record.begin_tick(epoch);
    for (int layer = 0; layer < 60000; ++layer)
      record.value("Loss", "encoder.layer." + std::to_string(layer), "mean", epoch + 1.0 / (layer + 1));
    EXPECT_EQ(record.end_tick(), "");
  };
  {
    Driver record(RECORD_PLUGIN);
    record.begin(folder.text());
    long_tick(record, 1);
    long_tick(record, 2);
    EXPECT_EQ(record.messages, std::vector<std::string>());
    EXPECT_TRUE(std::filesystem::exists(folder / "record.jsonl"));
    long_tick(record, 3);
    ASSERT_EQ(record.messages.size(), 1u);
    EXPECT_EQ(record.messages[0].rfind("'" + (folder / "record.jsonl") + "' has become long", 0), 0u);
    record.loss_tick(4, 4);
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "record.jsonl"));
  Driver record(RECORD_PLUGIN);
  record.begin(folder.text(), true);
  record.loss_tick(5, 5);
  Driver::speak("failed", "it was a \"signal\"", 70);
  ASSERT_EQ(std::system(("gunzip -k '" + (folder / "record.jsonl.gz") + "'").c_str()), 0);
  EXPECT_EQ(epochs_of(folder / "record.jsonl", "tick"), (std::vector<double>{1, 2, 3, 4, 5}));
  EXPECT_LT(std::filesystem::file_size(folder / "record.jsonl.gz"),
            std::filesystem::file_size(folder / "record.jsonl") / 4);
  Json last = records(folder / "record.jsonl").back();
  last.erase("timestamp");
  EXPECT_EQ(last, Json::parse(R"({"kind": "end", "epoch": 5, "how": "failed", "step": 70,
                                  "message": "it was a \"signal\""})"));
}

TEST(Record, HasLastWordsOncePerPartOfARunAndNoneAfterItsEnd) {
  const Folder folder;
  Driver record(RECORD_PLUGIN);
  record.begin(folder.text());
  Driver::speak("failed", "SIGSEGV", 1);
  EXPECT_FALSE(std::filesystem::exists(folder / "record.jsonl"));
  record.loss_tick(1, 1);
  Driver::speak("failed", "std::terminate was called", 7);
  Driver::speak("failed", "SIGABRT", 7);
  EXPECT_EQ(epochs_of(folder / "record.jsonl", "end"), std::vector<double>{1});
  EXPECT_EQ(records(folder / "record.jsonl").back()["message"], "std::terminate was called");
  record.loss_tick(2, 1);
  Driver::speak("interrupted", "SIGINT", 8);
  EXPECT_EQ(epochs_of(folder / "record.jsonl", "end"), (std::vector<double>{1, 2}));
  record.loss_tick(3, 1);
  tell_end(record, LOUPE_END_COMPLETED, 3);
  Driver::speak("failed", "SIGSEGV", 9);
  EXPECT_EQ(epochs_of(folder / "record.jsonl", "end"), (std::vector<double>{1, 2, 3}));
}

}  // namespace
}  // namespace loupe::test
