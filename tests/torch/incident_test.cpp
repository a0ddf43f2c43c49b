// What the folder of an incident holds of a trainer's last steps.

#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <torch/torch.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "paths.h"

namespace {

namespace fs = std::filesystem;
namespace nn = torch::nn;

std::string fresh_folder() {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const fs::path folder = fs::path(LOUPE_PROBE_FOLDER).parent_path() / "runs" / test->name();
  fs::remove_all(folder);
  return folder.string();
}
std::vector<char> bytes_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}
nlohmann::json json_of(const fs::path& file) {
  const std::vector<char> bytes = bytes_of(file);
  return nlohmann::json::parse(bytes.begin(), bytes.end());
}

struct TrainerWithFolder {
  explicit TrainerWithFolder(const std::string& run)
      : folder(fresh_folder()),
        inspector(loupe::Inspector::from_text("run: {name: trainer, dir: " + folder + run +
                                              "}\nattach: {summary: false}\nlenses: [health]\n")) {
    torch::manual_seed(3);
    model = nn::Sequential(nn::Linear(6, 8), nn::ReLU(), nn::Linear(8, 3));
    optimizer = std::make_unique<torch::optim::SGD>(model->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
    inspector.attach(*model, *optimizer);
  }
  /// With clears = false, the second step has a fault of the loop: uncleared gradients.
  void step(bool clears = true) {
    if (clears) optimizer->zero_grad();
    const auto loss = nn::functional::cross_entropy(model->forward(torch::randn({16, 6})), torch::randint(3, {16}));
    loss.backward();
    inspector.push_loss(loss, true);
    optimizer->step();
  }

  std::string folder;
  loupe::Inspector inspector;
  nn::Sequential model{nullptr};
  std::unique_ptr<torch::optim::SGD> optimizer;
};

TEST(IncidentOfATrainer, HoldsEveryStreamAndTheRatesAtTheFirstError) {
  TrainerWithFolder trainer("");
  for (int i = 0; i < 4; ++i) trainer.step(/*clears=*/false);
  const fs::path incident = fs::path(trainer.folder) / "incident-2";
  const auto about = json_of(incident / "about.json");
  EXPECT_EQ(about["rule"], "gradients_not_cleared");
  ASSERT_EQ(about["learning_rates"].size(), 1u);
  EXPECT_EQ(about["learning_rates"][0]["optimizer"], "SGD");
  EXPECT_EQ(about["learning_rates"][0]["learning_rate"], 0.05);
  EXPECT_EQ(about["learning_rates"][0]["momentum"], 0.9);
  std::map<std::string, int> streams;  // and the last step of each
  std::ifstream lines(incident / "measurements.jsonl");
  for (std::string text; std::getline(lines, text);) {
    const auto line = nlohmann::json::parse(text);
    streams[line["stream"]] = line["step"];
  }
  for (const char* stream : {"train_loss", "learning rate of SGD group 0", "0 forward", "0 parameter_gradient weight",
                             "2 optimizer_step bias"}) {
    EXPECT_EQ(streams[stream], 2) << stream;
  }
  EXPECT_FALSE(fs::exists(fs::path(trainer.folder) / "incident-4"));
}

TEST(IncidentOfATrainer, HasTheTensorsOfTheModuleBlamedInFilesThatTorchLoads) {
  TrainerWithFolder trainer(", incident_tensors: true");
  for (int i = 0; i < 2; ++i) trainer.step(/*clears=*/false);
  const fs::path incident = fs::path(trainer.folder) / "incident-2";
  const auto about = json_of(incident / "about.json");
  ASSERT_EQ(about["tensors"].size(), 8u);  // weights, biases and gradients of both layers of the blamed model
  for (const auto& each : about["tensors"]) {
    // Python's torch.load looks here for an archive of LibTorch, and refuses the file if it finds one.
    const std::vector<char> bytes = bytes_of(incident / each["file"].get<std::string>());
    constexpr std::size_t tar_block = 512;
    ASSERT_GT(bytes.size(), tar_block + 2);
    EXPECT_NE(std::string(bytes.data() + tar_block, 2), "PK") << each;
    torch::Tensor loaded;
    torch::load(loaded, (incident / each["file"].get<std::string>()).string());
    const auto parameter =
        trainer.model
            ->named_parameters()[each["layer"].get<std::string>() + "." + each["parameter"].get<std::string>()];
    EXPECT_TRUE(torch::equal(loaded, each["gradient"] == true ? parameter.grad() : parameter.detach()));
  }
}

TEST(IncidentOfATrainer, HoldsStepsFromWhenTheTrainerNamedAFolderOn) {
  auto inspector = loupe::Inspector::from_text("attach: {summary: false}\nlenses: [health]\n");
  nn::Linear model(6, 3);
  inspector.attach(*model);
  model(torch::randn({4, 6}));
  EXPECT_EQ(inspector.dump("too early"), "") << "the run has no folder yet";
  inspector.set_directory(fresh_folder());
  model(torch::randn({4, 6}));
  const fs::path folder = inspector.dump("now");
  std::ifstream lines(folder / "measurements.jsonl");
  std::string line;
  ASSERT_TRUE(std::getline(lines, line)) << folder;
  EXPECT_EQ(nlohmann::json::parse(line)["events"], 1);
}

}  // namespace
