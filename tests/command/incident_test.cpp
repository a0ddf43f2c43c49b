// `loupe replay` shows the folder of an incident as text.

#include <gtest/gtest.h>

#include "examples/process.h"
#include "recorded_run.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;

Finished replay(const std::string& arguments, const fs::path& folder) {
  return run(std::string(LOUPE_COMMAND) + " replay " + arguments, folder);
}

const char* const about = R"({"kind": "incident", "format": 1, "run": "digits", "step": 412, "epoch": 3.0,
 "time": "2024-05-01T12:00:00Z", "how": "finding", "why": "half of it is silent", "rule": "dead_units",
 "layer": "fc1", "parameter": null, "learning_rates": [{"model": null, "optimizer": "SGD", "group": 0,
 "learning_rate": 0.1, "momentum": 0.9, "weight_decay": null}],
 "tensors": [{"layer": "fc1", "parameter": "weight", "gradient": false, "file": "fc1.weight.pt"}],
 "streams_left_out": 2})";

fs::path an_incident() {
  fs::path folder = fresh_folder();
  std::string lines;
  for (int step = 402; step < 412; ++step) {
    lines += R"({"stream":"fc1 forward","step":)" + std::to_string(step) +
             R"(,"events":1,"training":true,"elements":8,"nan":0,"inf":0,"mean":0.25,"norm":"Infinity"})"
             "\n";
  }
  lines += "{\"stream\":\"train\\u001b_loss\",\"step\":411,\"events\":1,\"training\":true,\"value\":\"NaN\"}\n";
  fs::create_directories(folder / "incident-412");
  write(folder / "incident-412/about.json", about);
  write(folder / "incident-412/measurements.jsonl", lines);
  write(folder / "incident-412/findings.jsonl",
        R"({"kind":"finding","epoch":3.0,"severity":"error","state":"raised","rule":"dead_units","layer":"fc1",)"
        R"("message":"half of it is silent","advice":"lower the learning rate","first_step":380})"
        "\n");
  write(folder / "incident-412/config.yaml", "loupe: 1\n");
  return folder;
}

TEST(ReplayOfAnIncident, TellsWhyItWasKeptAndTheLastStepsOfEachStream) {
  const fs::path folder = an_incident();
  for (const char* name : {"incident-412", "incident-412/"}) {
    const Finished finished = replay(name, folder);
    EXPECT_EQ(finished.exit_code, 0);
    EXPECT_EQ(finished.output,
              "digits, step 412 in epoch 3, 2024-05-01T12:00:00Z: kept because of the finding 'dead_units' at 'fc1'\n"
              "  half of it is silent\n"
              "\n"
              "findings\n"
              "  error: fc1: half of it is silent (dead_units, from step 380)\n"
              "    advice: lower the learning rate\n"
              "\n"
              "optimizers\n"
              "  SGD group 0: learning rate 0.1, momentum 0.9\n"
              "\n"
              "tensors, for torch.load\n"
              "  fc1.weight.pt\n"
              "\n"
              "fc1 forward, the last 8 of 10\n"
              "         step      events    elements         nan         inf        mean        norm\n"
              "          404           1           8           0           0        0.25    Infinity\n"
              "          405           1           8           0           0        0.25    Infinity\n"
              "          406           1           8           0           0        0.25    Infinity\n"
              "          407           1           8           0           0        0.25    Infinity\n"
              "          408           1           8           0           0        0.25    Infinity\n"
              "          409           1           8           0           0        0.25    Infinity\n"
              "          410           1           8           0           0        0.25    Infinity\n"
              "          411           1           8           0           0        0.25    Infinity\n"
              "\n"
              "train?_loss\n"
              "         step      events       value\n"
              "          411           1         NaN\n"
              "\n"
              "2 more streams were left out\n");
  }
}

TEST(ReplayOfAnIncident, RefusesOneThatIsNotWhole) {
  const fs::path folder = an_incident();
  const fs::path incident = folder / "incident-412";
  EXPECT_EQ(replay("incident-412 --visualizer html", folder).exit_code, 2);
  EXPECT_EQ(replay("incident-413", folder).exit_code, 2);
  const auto expect_refused = [&](const std::string& said) {
    const Finished finished = replay("incident-412", folder);
    EXPECT_EQ(finished.exit_code, 2);
    EXPECT_NE(finished.output.find(said), std::string::npos) << finished.output;
  };
  const std::string lines = read(incident / "measurements.jsonl");
  write(incident / "measurements.jsonl", "{\"stream\"\n" + lines);
  expect_refused("incident-412/measurements.jsonl: error: line 1 is no JSON object");
  fs::remove(incident / "measurements.jsonl");
  expect_refused("incident-412/measurements.jsonl: error: this cannot be read");
  write(incident / "about.json", R"({"kind": "incident", "format": 9})");
  expect_refused("this incident is of format 9, and this Loupe reads format 1");
  write(incident / "about.json", "{\"kind\"");
  expect_refused("this was cut off, or is no JSON; give a folder incident-STEP");
  fs::remove(incident / "about.json");
  expect_refused("about.json: error: this cannot be read");
}

TEST(ReplayOfAnIncident, ToleratesALastLineThatWasCutOff) {
  const fs::path folder = an_incident();
  const std::string lines = read(folder / "incident-412/measurements.jsonl");
  write(folder / "incident-412/measurements.jsonl", lines + "{\"stream\":\"fc");
  EXPECT_EQ(replay("incident-412", folder).exit_code, 0);
}

TEST(Replay, OfARecordNeedsAVisualizer) {
  const fs::path folder = fresh_folder();
  record_run(folder);
  const Finished finished = replay("record.jsonl", folder);
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_NE(finished.output.find("name one: --visualizer html"), std::string::npos) << finished.output;
}

}  // namespace
}  // namespace loupe::test
