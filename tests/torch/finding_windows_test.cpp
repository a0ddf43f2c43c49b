// The windows that rules judge, and the epochs that trainers tick: neither hides what the other shows.

#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <torch/torch.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace nn = torch::nn;

/// Of 20 steps, so that a few hundred show what patience and cooldown do.
loupe::Inspector inspector_with_short_windows() {
  return loupe::Inspector::from_text("attach: {summary: false}\nlenses: [{health: {window: 20}}]\n");
}

struct Net {
  explicit Net(double bias) {
    torch::manual_seed(4);
    model = nn::Sequential(nn::Linear(6, 8), nn::ReLU(), nn::Linear(8, 3));
    const torch::NoGradGuard guard;
    model[0]->as<nn::Linear>()->bias.fill_(bias);
    optimizer = std::make_unique<torch::optim::SGD>(model->parameters(), 0.05);
  }
  void step() {
    optimizer->zero_grad();
    const auto loss = nn::functional::cross_entropy(model->forward(torch::randn({16, 6})), torch::randint(3, {16}));
    loss.backward();
    optimizer->step();
  }

  nn::Sequential model{nullptr};
  std::unique_ptr<torch::optim::SGD> optimizer;
};

constexpr double dead = -100, alive = 0;

bool tells(const loupe::Inspector& inspector, const std::string& rule) {
  for (const loupe::Finding& each : inspector.findings()) {
    if (each.rule == rule && each.state != LOUPE_FINDING_GONE) return true;
  }
  return false;
}

class EpochsOfSteps : public ::testing::TestWithParam<int> {};

TEST_P(EpochsOfSteps, HideNoDeadUnits) {
  loupe::Inspector inspector = inspector_with_short_windows();
  Net net(dead);
  inspector.attach(*net.model, *net.optimizer);
  for (int step = 1; step <= 120; ++step) {
    net.step();
    if (step % GetParam() == 0) inspector.tick_epoch();
  }
  EXPECT_TRUE(tells(inspector, "dead_units"));
}

TEST_P(EpochsOfSteps, DoNotMakeAHealthyRunIll) {
  loupe::Inspector inspector = inspector_with_short_windows();
  Net net(alive);
  inspector.attach(*net.model, *net.optimizer);
  for (int step = 1; step <= 120; ++step) {
    net.step();
    if (step % GetParam() == 0) inspector.tick_epoch();
  }
  for (const loupe::Finding& each : inspector.findings()) EXPECT_EQ(each.severity, LOUPE_SEVERITY_INFO) << each.message;
}

INSTANTIATE_TEST_SUITE_P(ShorterAndLongerThanAWindow, EpochsOfSteps, ::testing::Values(1, 3, 4, 19, 20, 21, 23, 40, 60),
                         [](const auto& info) { return std::to_string(info.param); });

TEST(FindingsOfEpochs, StandThroughTheWindowsOfTheNext) {
  loupe::Inspector inspector = inspector_with_short_windows();
  Net net(alive);
  inspector.attach(*net.model, *net.optimizer);
  std::map<std::pair<std::string, uint32_t>, int> told;
  inspector.on_finding([&](const loupe::Finding& finding) { ++told[{finding.rule, finding.state}]; });
  constexpr int epochs = 6, windows_in_each = 5;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (int step = 0; step < 20 * windows_in_each; ++step) {
      net.step();
      inspector.push_loss(1.0, /*train=*/true);
    }
    inspector.tick_epoch();
  }
  const std::string rule = "loss_not_decreasing";
  EXPECT_EQ((told[{rule, LOUPE_FINDING_RAISED}]), 1);
  EXPECT_EQ((told[{rule, LOUPE_FINDING_GONE}]), 0);
}

TEST(FindingsOfSeveralModels, AreJudgedByTheWindowsOfTheirOwn) {
  loupe::Inspector inspector = inspector_with_short_windows();
  Net often(alive), seldom(dead);
  inspector.attach(*often.model, *often.optimizer, "often");
  inspector.attach(*seldom.model, *seldom.optimizer, "seldom");
  for (int step = 1; step <= 500; ++step) {
    often.step();
    if (step % 5 == 0) seldom.step();
  }
  EXPECT_TRUE(tells(inspector, "dead_units"));
}

}  // namespace
