// Runs with a record: which files they keep, and which ones they continue.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/run_folder.h"
#include "folder.h"
#include "pipeline/monitor.h"
#include "says.h"

namespace loupe {
namespace {

/// A run that records its loss.
class Recorded {
 public:
  explicit Recorded(const Folder& folder, const std::string& more = "")
      : monitor_(Config::from_text(
            "run: {dir: " + folder.path("digits") + more + "}\nlenses: [loss_metrics]\nvisualizers: [record]\n",
            "a.yaml", "/")) {}
  void tick(std::optional<double> epoch = std::nullopt) {
    monitor_.push("train_loss", 1, LOUPE_EVENT_LOSS | LOUPE_EVENT_TRAINING);
    monitor_.tick(epoch);
    monitor_.display().wait();
  }
  static std::size_t lines(const std::string& file) {
    std::ifstream input(file);
    std::size_t count = 0;
    for (std::string line; std::getline(input, line);) ++count;
    return count;
  }

 private:
  Monitor monitor_;
};

class RecordedRun : public testing::Test {
 protected:
  const Folder folder;
  const LogCapture told;
};

TEST_F(RecordedRun, IsKeptBeforeANewRunsFirstEpochButNotIfThatRunFailsEarlier) {
  { Recorded(folder).tick(); }
  const std::size_t lines = Recorded::lines(folder.path("digits/record.jsonl"));
  ASSERT_GT(lines, 0u);
  EXPECT_EQ(told.messages, std::vector<std::string>{});
  { Recorded fails(folder); }
  EXPECT_EQ(told.messages, std::vector<std::string>{});
  {
    Recorded again(folder);
    again.tick();
    again.tick();
  }
  EXPECT_EQ(Recorded::lines(folder.path("digits/older-1/record.jsonl")), lines);
  EXPECT_GT(Recorded::lines(folder.path("digits/record.jsonl")), lines);
  EXPECT_EQ(told.messages.size(), 1u);
}

TEST_F(RecordedRun, HasBesideItWhatItLoaded) {
  Recorded run(folder);
  EXPECT_FALSE(std::filesystem::exists(folder.path("digits")));
  run.tick();
  const auto loaded = [&] {
    std::ifstream file(folder.path("digits/") + loaded_file_name);
    return nlohmann::json::parse(file);
  };
  const nlohmann::json first = loaded();
  EXPECT_EQ(first["abi"], "1.0");
  std::vector<std::string> components;
  for (const auto& plugin : first["plugins"]) {
    EXPECT_TRUE(std::filesystem::exists(plugin["file"].get<std::string>())) << plugin;
    EXPECT_EQ(plugin["version"], first["loupe_version"]);
    EXPECT_EQ(plugin["abi"], "1.0");
    for (const auto& each : plugin["components"])
      components.push_back(each["kind"].get<std::string>() + " " + each["name"].get<std::string>());
  }
  EXPECT_NE(std::find(components.begin(), components.end(), "lens loss_metrics"), components.end());
  EXPECT_NE(std::find(components.begin(), components.end(), "visualizer record"), components.end());
  EXPECT_NE(std::find(components.begin(), components.end(), "gatherer push"), components.end());
  EXPECT_EQ(std::find(components.begin(), components.end(), "lens health"), components.end()) << "no lens uses health";
  run.tick();
  EXPECT_EQ(loaded(), first);
}

TEST_F(RecordedRun, KeepsTheIncidentsOfAnEarlierRunEvenIfNothingElseIsWritten) {
  folder.write("digits/incident-412/about.json", "x");
  Monitor monitor(
      Config::from_text("run: {dir: " + folder.path("digits") + "}\nlenses: [loss_metrics]\n", "a.yaml", "/"));
  monitor.push("train_loss", 1, LOUPE_EVENT_LOSS | LOUPE_EVENT_TRAINING);
  monitor.tick(std::nullopt);
  EXPECT_TRUE(std::filesystem::exists(folder.path("digits/older-1/incident-412/about.json")));
  EXPECT_FALSE(std::filesystem::exists(folder.path("digits/incident-412")));
  EXPECT_EQ(told.messages.size(), 1u);
}

TEST_F(RecordedRun, ContinuesItsFilesWithResumeAndSuggestsItOtherwise) {
  { Recorded(folder).tick(); }
  { Recorded(folder, ", resume: true").tick(2); }
  EXPECT_FALSE(std::filesystem::exists(folder.path("digits/older-1")));
  EXPECT_EQ(told.messages, std::vector<std::string>{});
  { Recorded(folder).tick(3); }
  ASSERT_EQ(told.messages.size(), 2u);
  EXPECT_NE(told.messages[1].find("set 'resume: true' under run"), std::string::npos);
}

TEST_F(RecordedRun, ThatGoesOnWithAnotherModelSaysWhatDiffers) {
  const auto run = [&](int64_t rows, double epoch) {
    Monitor monitor(Config::from_text(
        "run: {resume: true, dir: " + folder.path("digits") + "}\nlenses: [loss_metrics]\nvisualizers: [record]\n",
        "a.yaml", "/"));
    ModuleDescription layer;
    layer.name = layer.path = "fc";
    layer.type = "Linear";
    layer.flags = LOUPE_MODULE_LEAF;
    layer.parameters = {{"weight", LOUPE_PARAMETER_TRAINABLE, {rows, 3}, 3 * rows}};
    const auto model = std::make_shared<ModelNode>("net", "net", "Net");
    monitor.add_module(layer, model);
    monitor.announce(*model);
    monitor.push("train_loss", 1, LOUPE_EVENT_LOSS | LOUPE_EVENT_TRAINING);
    monitor.tick(epoch);
  };
  run(2, 1);
  run(2, 2);
  EXPECT_EQ(told.messages, std::vector<std::string>{});
  run(4, 3);
  ASSERT_EQ(told.messages.size(), 1u);
  EXPECT_SAYS(told.messages[0],
              "this run continues '" + folder.path("digits/record.jsonl") + "' with a different model: ");
  EXPECT_SAYS(told.messages[0], "'fc' (Linear of 4x3) where it had 'fc' (Linear of 2x3)");
  EXPECT_SAYS(told.messages[0], "leave out 'resume' under run or set another 'dir'");
}

TEST_F(RecordedRun, WhoseFolderAnotherTookGoesOnBesideIt) {
  const auto epochs_of = [&](const std::string& name) {
    std::ifstream input(folder.path(name + "/record.jsonl"));
    std::string epochs;
    for (std::string line; std::getline(input, line);) {
      const std::string tick = R"({"kind":"tick","epoch":)";
      if (line.rfind(tick, 0) == 0) epochs += line.substr(tick.size(), 1);
    }
    return epochs;
  };
  Recorded first(folder);
  first.tick();
  first.tick();
  std::filesystem::rename(folder.path("digits"), folder.path("moved"));
  {
    Recorded second(folder);
    second.tick();
    first.tick();
    first.tick();
    second.tick();
  }
  first.tick();
  EXPECT_EQ(epochs_of("moved"), "12");
  EXPECT_EQ(epochs_of("digits"), "12") << "only the second run wrote here";
  EXPECT_EQ(epochs_of("digits-2"), "345");
  EXPECT_EQ(told.messages.size(), 1u);
}

TEST_F(RecordedRun, ThatLostItsFolderKeepsTheFilesOfAnotherRunThere) {
  Recorded first(folder);
  first.tick();
  std::filesystem::rename(folder.path("digits"), folder.path("moved"));
  { Recorded(folder).tick(); }
  const std::size_t lines = Recorded::lines(folder.path("digits/record.jsonl"));
  first.tick();
  EXPECT_EQ(Recorded::lines(folder.path("digits/older-1/record.jsonl")), lines);
  EXPECT_EQ(Recorded::lines(folder.path("digits/record.jsonl")), lines - 1) << "the run has not ended yet";
  EXPECT_EQ(told.messages.size(), 2u) << "one about the lost folder, and one about the kept files";
}

TEST_F(RecordedRun, ThatLostItsFolderBeforeTheEndWritesNothingIntoAnother) {
  std::optional<Recorded> first(std::in_place, folder);
  first->tick();
  std::filesystem::rename(folder.path("digits"), folder.path("moved"));
  Recorded second(folder);
  second.tick();
  const std::size_t lines = Recorded::lines(folder.path("digits/record.jsonl"));
  first.reset();
  EXPECT_EQ(Recorded::lines(folder.path("digits/record.jsonl")), lines);
}

}  // namespace
}  // namespace loupe
