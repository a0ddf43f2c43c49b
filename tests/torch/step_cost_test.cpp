// The time and memory of a step by layer, in a model that LibTorch runs.

#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <torch/torch.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

namespace {

namespace nn = torch::nn;
using Names = std::set<std::string>;
constexpr double mebibyte = 1 << 20;

struct Trainer {
  explicit Trainer(const std::string& yaml)
      : inspector(loupe::Inspector::from_text("attach: {summary: false}\n" + yaml)) {
    inspector.attach(*model, optimizer);
  }
  void train(int steps) {
    for (int i = 0; i < steps; ++i) {
      optimizer.zero_grad();
      model->forward(torch::randn({32, 64})).pow(2).mean().backward();
      optimizer.step();
    }
  }
  double value(const char* tag, const char* layer, const char* line) {
    return inspector.value(tag, layer, line).value_or(NAN);
  }

  loupe::Inspector inspector;
  nn::Sequential model{nn::Linear(64, 256), nn::Tanh(), nn::Linear(256, 16), nn::ReLU()};
  torch::optim::Adam optimizer{model->parameters(), 1e-3};
};

TEST(StepMemory, IsWhatTheBackwardPassNeedsLayerByLayer) {
  Trainer trainer("lenses: [memory]\n");
  trainer.train(12);
  trainer.inspector.tick_epoch();
  const double rows = 32, element = 4;
  EXPECT_EQ(trainer.value("Kept for Backward", "0", "kept"), 0) << "tanh keeps its output, not its input";
  EXPECT_EQ(trainer.value("Kept for Backward", "1", "kept"), rows * 256 * element / mebibyte);
  EXPECT_EQ(trainer.value("Kept for Backward", "2", "kept"), 0);
  EXPECT_EQ(trainer.value("Kept for Backward", "3", "kept"), rows * 16 * element / mebibyte);
}

TEST(StepMemory, OfParametersGradientsAndTheOptimizerIsTheirSize) {
  Trainer trainer("lenses: [memory]\n");
  trainer.train(12);
  trainer.inspector.tick_epoch();
  const double parameters = 4.0 * (64 * 256 + 256 + 256 * 16 + 16) / mebibyte;
  EXPECT_DOUBLE_EQ(trainer.value("Memory", "Memory", "parameters"), parameters);
  EXPECT_DOUBLE_EQ(trainer.value("Memory", "Memory", "gradients"), parameters);
  EXPECT_DOUBLE_EQ(trainer.value("Memory", "Memory", "optimizer state"), 2 * parameters);
  EXPECT_GT(trainer.value("Memory", "Memory", "process"), 1);
}

TEST(StepTime, GoesToEachLayerAndAddsUp) {
  Trainer trainer("lenses: [step_time]\n");
  trainer.train(40);
  trainer.inspector.tick_epoch();
  double layers_forward = 0, layers_backward = 0, shares = 0;
  for (const char* layer : {"0", "1", "2", "3"}) {
    EXPECT_GT(trainer.value("Layer Time", layer, "forward"), 0);
    EXPECT_GT(trainer.value("Layer Time", layer, "backward"), 0);
    layers_forward += trainer.value("Layer Time", layer, "forward");
    layers_backward += trainer.value("Layer Time", layer, "backward");
    shares += trainer.value("Layer Time Share", "Layer Time Share", layer);
  }
  EXPECT_LE(layers_forward, trainer.value("Step Time", "Step Time", "forward"));
  EXPECT_LE(layers_backward, trainer.value("Step Time", "Step Time", "loss and backward"));
  EXPECT_GT(trainer.value("Step Time", "Step Time", "optimizer step"), 0);
  EXPECT_LE(shares, 1 + 1e-9);
}

TEST(StepTime, OfOptimizersThatStepWithinTheBackwardPassLeavesNoWordOfLibTorchs) {
  Trainer trainer("lenses: [step_time]\n");
  testing::internal::CaptureStderr();
  for (int i = 0; i < 60; ++i) {
    nn::SequentialImpl& net = *trainer.model;
    const at::Tensor hidden = net[0]->as<nn::Linear>()->forward(torch::randn({32, 64}));
    hidden.register_hook([&](const at::Tensor&) { trainer.optimizer.step(); });
    const at::Tensor output = net[2]->as<nn::Linear>()->forward(net[1]->as<nn::Tanh>()->forward(hidden));
    net[3]->as<nn::ReLU>()->forward(output).pow(2).mean().backward();
  }
  trainer.inspector.tick_epoch();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find("allback"), std::string::npos) << said;
  EXPECT_GT(trainer.value("Layer Time", "2", "backward"), 0);
}

TEST(StepTime, ComesFromLaterStepsIfAThreadEndsWithinATimedStep) {
  Trainer trainer("lenses: [step_time]\n");
  std::thread([&] { trainer.train(2); }).join();  // Loupe would time the third step
  trainer.train(40);
  trainer.inspector.tick_epoch();
  EXPECT_GT(trainer.value("Step Time", "Step Time", "forward"), 0);
  EXPECT_GT(trainer.value("Layer Time", "0", "backward"), 0);
}

TEST(StepTrace, PutsEachNodeUnderTheLayerThatMadeIt) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "loupe-step-trace";
  std::filesystem::remove_all(folder);
  Trainer trainer("run: {dir: " + folder.string() + "}\ntrace: {steps: 2, after: 3}\nlenses: [health]\n");
  trainer.train(10);
  const auto trace = nlohmann::json::parse(std::ifstream(folder / "trace.json"));
  std::map<std::string, Names> nodes;  // lists the names of nodes by layer
  std::string layer;
  int forwards = 0;
  for (const auto& event : trace.at("traceEvents")) {
    const std::string category = event.value("cat", ""), name = event.at("name");
    forwards += category == "forward" && name == "0" ? 1 : 0;
    if (category == "backward") layer = name;
    if (category == "node") nodes[layer].insert(name);
  }
  EXPECT_EQ(forwards, 2);
  EXPECT_EQ(nodes["0"].count("AddmmBackward0"), 1U);
  EXPECT_EQ(nodes["0"].count("torch::autograd::AccumulateGrad"), 1U);
  EXPECT_EQ(nodes["1"], Names{"TanhBackward0"});
  EXPECT_EQ(nodes["2"].count("AddmmBackward0"), 1U);
  EXPECT_EQ(nodes["3"], Names{"ReluBackward0"});
  EXPECT_EQ(nodes["between modules"], (Names{"MeanBackward0", "PowBackward0"}));
}

}  // namespace
