// `loupe replay` shows the folder of an incident as text.

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "examples/process.h"
#include "paths.h"
#include "recorded_run.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;

Finished replay(const std::string& arguments, const fs::path& folder) {
  return run(LOUPE_COMMAND + " replay " + arguments, folder);
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
              "    → lower the learning rate\n"
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

/// The page's embedded data with this id.
nlohmann::json embedded(const std::string& page, const std::string& id) {
  const std::string opening = "<script type=\"application/json\" id=\"" + id + "\">";
  const auto begin = page.find(opening);
  if (begin == std::string::npos) return nullptr;
  const auto from = begin + opening.size();
  return nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
}

TEST(ReplayOfAnIncident, MakesAPageWithATickAStep) {
  const fs::path folder = an_incident();
  write(
      folder / "incident-412/about.json",
      std::string(about, std::strlen(about) - 1) +
          R"(, "modules": [{"name": "net", "type": "Net", "leaf": false}, {"name": "fc1", "type": "Linear", "leaf": true}]})");
  const std::string broken =
      R"({"stream":"fc1 step_gradient weight","step":411,"events":1,"training":true,"elements":8,"nan":3,"inf":1,"norm":2.5})"
      "\n";
  write(folder / "incident-412/measurements.jsonl", read(folder / "incident-412/measurements.jsonl") + broken);
  write(folder / "incident-412/findings.jsonl",
        R"({"kind":"finding","epoch":3.0,"severity":"error","state":"raised","rule":"dead_units","layer":"fc1",)"
        R"("parameter":null,"message":"half of it is silent","advice":null,"tag":null,"source":"health","value":null,)"
        R"("threshold":null,"first_step":380,"last_step":411,"first_epoch":2.0,"last_epoch":3.0,"count":2})"
        "\n");
  const Finished finished = replay("incident-412 --visualizer html --out page", folder);
  ASSERT_EQ(finished.exit_code, 0) << finished.output;
  const std::string page = read(folder / "page/report.html");
  const nlohmann::json run = embedded(page, "run-0");
  EXPECT_EQ(run["name"], "digits, incident at step 412");
  EXPECT_EQ(run["incident"], true);
  EXPECT_EQ(run["ending"], nullptr);
  EXPECT_EQ(run["epochs"].front(), 402.0);
  EXPECT_EQ(run["epochs"].back(), 411.0);
  EXPECT_EQ(run["epochs"].size(), 10U);
  std::vector<std::string> tags;
  for (const auto& tag : run["tags"]) tags.push_back(tag["name"]);
  EXPECT_EQ(tags, (std::vector<std::string>{"Output Norm", "Output", "Loss", "Weight Gradient at the Step Norm",
                                            "Non-Finite Values"}));
  EXPECT_EQ(embedded(page, "run-0-tag-4")[0]["lines"][0][0], "Weight Gradient at the Step NaN");
  EXPECT_EQ(run["tags"][0]["broken"][0], 402.0);  // the norm is infinite
  EXPECT_EQ(run["tags"][3]["broken"][0], 411.0);
  EXPECT_EQ(run["findings"][0]["firstEpoch"], 380.0);
  EXPECT_EQ(run["models"][0]["modules"].size(), 2U);
  std::map<std::string, std::string> settings;
  for (const auto& each : run["hyperparameters"]) settings[each[0]] = each[1];
  EXPECT_EQ(settings.at("incident.cause"), "because of the finding 'dead_units' at 'fc1'");
  EXPECT_EQ(settings.at("incident.layer"), "fc1");
  EXPECT_EQ(settings.at("incident.tensors"), "fc1.weight.pt");
  EXPECT_EQ(settings.at("incident.streams_left_out"), "2");
  EXPECT_EQ(settings.at("SGD group 0 learning_rate"), "0.1");
  EXPECT_EQ(settings.count("SGD group 0 weight_decay"), 0U);
}

TEST(ReplayOfAnIncident, RefusesOneThatIsNotWhole) {
  const fs::path folder = an_incident();
  const fs::path incident = folder / "incident-412";
  for (const char* visualizers : {"--visualizer csv", "--visualizer html --visualizer csv"}) {
    EXPECT_ENDS(replay(std::string("incident-412 ") + visualizers, folder), 2, "as a page, only by --visualizer html");
  }
  const std::string findings = read(incident / "findings.jsonl");
  for (const char* wrong : {R"({"kind":"finding","rule":"dead_units"})", R"({"kind":"tick","epoch":1,"step":2})"}) {
    write(incident / "findings.jsonl", wrong + std::string("\n"));
    EXPECT_ENDS(replay("incident-412 --visualizer html --out page --force", folder), 2,
                "incident-412/findings.jsonl: error: ");
  }
  write(incident / "findings.jsonl", findings);
  EXPECT_EQ(replay("incident-413", folder).exit_code, 2);
  const auto expect_refused = [&](const std::string& said) { EXPECT_ENDS(replay("incident-412", folder), 2, said); };
  const std::string lines = read(incident / "measurements.jsonl");
  write(incident / "measurements.jsonl", "{\"stream\"\n" + lines);
  expect_refused("incident-412/measurements.jsonl: error: line 1 is not a JSON object");
  fs::remove(incident / "measurements.jsonl");
  expect_refused("incident-412/measurements.jsonl: error: this cannot be read");
  write(incident / "about.json", R"({"kind": "incident", "format": 9})");
  expect_refused("this incident has format 9, and this Loupe reads format 1");
  write(incident / "about.json", "{\"kind\"");
  expect_refused("this was cut off, or is not JSON; give a folder incident-STEP");
  fs::remove(incident / "about.json");
  expect_refused("about.json: error: this cannot be read");
}

TEST(ReplayOfAnIncident, ToleratesAnIncompleteLastLine) {
  const fs::path folder = an_incident();
  const std::string lines = read(folder / "incident-412/measurements.jsonl");
  write(folder / "incident-412/measurements.jsonl", lines + "{\"stream\":\"fc");
  EXPECT_EQ(replay("incident-412", folder).exit_code, 0);
}

}  // namespace
}  // namespace loupe::test
