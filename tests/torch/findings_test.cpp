// Which findings a trainer gets, and how a configuration or callback reacts to them.

#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace nn = torch::nn;

struct Trainer {
  explicit Trainer(const std::string& yaml = "lenses: [health]\n")
      : inspector(loupe::Inspector::from_text("attach: {summary: false}\n" + yaml)) {
    torch::manual_seed(3);
    model = nn::Sequential(nn::Linear(6, 8), nn::ReLU(), nn::Linear(8, 3));
    optimizer = std::make_unique<torch::optim::SGD>(model->parameters(), 0.05);
  }
  void attach() { inspector.attach(*model, *optimizer); }
  void step(bool clears = true) {
    if (clears) optimizer->zero_grad();
    const auto loss = nn::functional::cross_entropy(model->forward(torch::randn({16, 6})), torch::randint(3, {16}));
    loss.backward();
    optimizer->step();
  }
  std::vector<std::string> rules() const {
    std::vector<std::string> rules;
    for (const loupe::Finding& each : inspector.findings()) {
      if (each.severity != LOUPE_SEVERITY_INFO) rules.push_back(each.rule);
    }
    return rules;
  }

  loupe::Inspector inspector;
  nn::Sequential model{nullptr};
  std::unique_ptr<torch::optim::SGD> optimizer;
};

using Names = std::vector<std::string>;

/// The findings of a head on a frozen backbone after some epochs, each as "rule layer".
std::vector<std::string> findings_of_a_frozen_backbone(bool calls_eval, bool follows_by_hand = false) {
  torch::manual_seed(3);
  auto inspector = loupe::Inspector::from_text("attach: {summary: false}\nlenses: [health]\n");
  nn::Sequential model(nn::Linear(6, 8), nn::BatchNorm1d(8), nn::ReLU(), nn::Linear(8, 8), nn::BatchNorm1d(8));
  std::vector<torch::Tensor> frozen = model->parameters();
  for (torch::Tensor& each : frozen) each.set_requires_grad(false);
  nn::Linear head(8, 3);
  model->push_back(head);
  torch::optim::SGD optimizer(head->parameters(), 0.05);
  inspector.attach(*model, optimizer);
  for ([[maybe_unused]] int epoch : inspector.epochs(4)) {
    model->train();
    if (calls_eval) model->eval();
    for (int i = 0; i < 10; ++i) {
      optimizer.zero_grad();
      const auto input = torch::randn({16, 6});
      nn::functional::cross_entropy(model->forward(input), torch::randint(3, {16})).backward();
      optimizer.step();
      const torch::NoGradGuard none;
      if (follows_by_hand) {
        for (torch::Tensor& each : frozen) each.mul_(0.99).add_(0.01);
      }
    }
  }
  std::vector<std::string> found;
  for (const loupe::Finding& each : inspector.findings()) {
    if (each.rule == "running_statistics") found.push_back(each.rule + " " + each.layer);
  }
  return found;
}

TEST(FindingsOfATrainer, IncludeBatchNormsThatMoveInAFrozenPart) {
  EXPECT_EQ(findings_of_a_frozen_backbone(/*calls_eval=*/false), Names{"running_statistics 1"});
  EXPECT_EQ(findings_of_a_frozen_backbone(/*calls_eval=*/true), Names());
  EXPECT_EQ(findings_of_a_frozen_backbone(false, /*follows_by_hand=*/true), Names()) << "weight averaging does this";
}

/// The findings about targets if nine in ten are class 0 and the loss has these options.
std::vector<std::string> findings_of_unbalanced_targets(const nn::functional::CrossEntropyFuncOptions& options) {
  Trainer trainer;
  trainer.attach();
  for ([[maybe_unused]] int epoch : trainer.inspector.epochs(4)) {
    for (int i = 0; i < 16; ++i) {
      trainer.optimizer->zero_grad();
      const auto targets =
          torch::where(torch::rand({64}) < 0.9, torch::zeros({64}, torch::kLong), torch::ones({64}, torch::kLong));
      nn::functional::cross_entropy(trainer.model->forward(torch::randn({64, 6})), targets, options).backward();
      trainer.optimizer->step();
    }
  }
  std::vector<std::string> found;
  for (const loupe::Finding& each : trainer.inspector.findings()) {
    if (each.rule == "unbalanced_targets") found.push_back(each.rule);
  }
  return found;
}

TEST(FindingsOfATrainer, IncludeTargetsOfOneClassUnlessTheLossWeighsOrIgnoresThem) {
  const nn::functional::CrossEntropyFuncOptions plain;
  EXPECT_EQ(findings_of_unbalanced_targets(plain), Names{"unbalanced_targets"});
  auto ignoring = plain, weighted = plain;
  EXPECT_EQ(findings_of_unbalanced_targets(ignoring.ignore_index(0)), Names());
  EXPECT_EQ(findings_of_unbalanced_targets(weighted.weight(torch::tensor({0.1F, 1.0F, 1.0F}))), Names());
}

/// The gradients spread the NaN to the second model, as between replicas that average their gradients.
TEST(FindingsOfATrainer, AreTheFirstNanOnlyIfItReachesAnotherModelByItsGradients) {
  Trainer trainer;
  trainer.attach();
  nn::Linear replica(6, 3);
  torch::optim::SGD optimizer(replica->parameters(), 0.05);
  trainer.inspector.attach(*replica, optimizer, "replica");
  for (int i = 0; i < 6; ++i) {
    trainer.optimizer->zero_grad();
    trainer.model->forward(torch::randn({16, 6}) * (i < 2 ? 1 : NAN)).sum().backward();
    optimizer.zero_grad();
    nn::functional::cross_entropy(replica->forward(torch::randn({16, 6})), torch::randint(3, {16})).backward();
    for (auto& each : replica->parameters()) each.mutable_grad().mul_(i < 2 ? 1 : NAN);
    trainer.optimizer->step();
    optimizer.step();
  }
  EXPECT_EQ(trainer.rules(), Names{"non_finite"});
}

TEST(FindingsOfATrainer, EndTheLoopWhereTheConfigurationSaysStop) {
  Trainer trainer("on_finding: {error: stop}\nlenses: [health]\n");
  trainer.attach();
  int turns = 0;
  for ([[maybe_unused]] int epoch : trainer.inspector.epochs(5)) {
    ++turns;
    for (int i = 0; i < 3; ++i) trainer.step(/*clears=*/turns < 2);
  }
  EXPECT_EQ(turns, 2);
  EXPECT_TRUE(trainer.inspector.should_stop());
}

TEST(FindingsOfATrainer, AreThrownOutOfTheNextCallWhereTheConfigurationSaysThrow) {
  Trainer trainer("on_finding: {error: throw}\nlenses: [health]\n");
  trainer.attach();
  for (int i = 0; i < 2; ++i) trainer.step(false);
  EXPECT_THROW(trainer.inspector.push_loss(1.0, true), std::runtime_error);
  EXPECT_NO_THROW(trainer.inspector.push_loss(1.0, true)) << "only the first call throws";
}

TEST(FindingsOfATrainer, ComeOutOfTheNextCallWhereTheCallbackThrows) {
  Trainer trainer;
  trainer.inspector.on_finding([](const loupe::Finding&) { throw std::out_of_range("enough"); });
  trainer.attach();
  for (int i = 0; i < 2; ++i) EXPECT_NO_THROW(trainer.step(false));
  EXPECT_THROW(trainer.inspector.push_loss(1.0, true), std::out_of_range);
  EXPECT_NO_THROW(trainer.inspector.push_loss(1.0, true)) << "only the first call throws";
  EXPECT_EQ(trainer.rules(), Names{"gradients_not_cleared"});
  // The lens caused no fault, so it keeps working.
  trainer.optimizer->param_groups()[0].options().set_lr(0);
  trainer.inspector.on_finding({});
  for (int i = 0; i < 3; ++i) trainer.step();
  EXPECT_EQ(trainer.rules(), (Names{"gradients_not_cleared", "zero_learning_rate"}));
}

TEST(FindingsOfATrainer, DoNotEndTheProgramWhereTheCallbackThrewAndNoCallFollows) {
  Trainer trainer;
  trainer.inspector.on_finding([](const loupe::Finding&) { throw 42; });
  trainer.attach();
  for (int i = 0; i < 2; ++i) trainer.step(false);
}

TEST(FindingsOfATrainer, DoNotCountTargetsThatAreIgnoredByDefault) {
  Trainer trainer;
  trainer.attach();
  for ([[maybe_unused]] int epoch : trainer.inspector.epochs(4)) {
    for (int i = 0; i < 16; ++i) {
      trainer.optimizer->zero_grad();
      const auto targets =
          torch::where(torch::rand({256}) < 0.9, torch::full({256}, -100, torch::kLong), torch::randint(3, {256}));
      nn::functional::cross_entropy(trainer.model->forward(torch::randn({256, 6})), targets).backward();
      trainer.optimizer->step();
    }
  }
  for (const loupe::Finding& each : trainer.inspector.findings()) EXPECT_NE(each.rule, "unbalanced_targets");
}

/// The percentage of class 0 in the finding unbalanced_targets if each step has four backward passes.
int share_found(const std::function<torch::Tensor(int part)>& targets_of) {
  Trainer trainer;
  trainer.attach();
  for ([[maybe_unused]] int epoch : trainer.inspector.epochs(6)) {
    for (int i = 0; i < 32; ++i) {
      trainer.optimizer->zero_grad();
      for (int part = 0; part < 4; ++part) {
        nn::functional::cross_entropy(trainer.model->forward(torch::randn({100, 6})), targets_of(part)).backward();
      }
      trainer.optimizer->step();
    }
  }
  for (const loupe::Finding& each : trainer.inspector.findings()) {
    if (each.rule == "unbalanced_targets") return static_cast<int>(std::lround(100 * each.value.value_or(0)));
  }
  return 0;
}

TEST(FindingsOfATrainer, CountTargetsOfAllPlacesAndOfAllPartsOfAStep) {
  // The same places are of class 0 in each batch.
  const int by_place = share_found([](int) {
    auto targets = torch::zeros({100}, torch::kLong);
    targets.slice(0, 0, 8).fill_(1);
    return targets;
  });
  EXPECT_NEAR(by_place, 92, 1);
  const int by_part = share_found([](int part) {
    const auto any = torch::randint(3, {100});
    return part > 0 ? any : torch::where(torch::rand({100}) < 0.95, torch::zeros_like(any), any);
  });
  EXPECT_EQ(by_part, 0) << "about half of all targets are of class 0";
}

TEST(FindingsOfATrainer, CountAStepOnceThoughTheOptimizerHoldsTwoModels) {
  Trainer trainer;
  nn::Linear second(3, 3);
  std::vector<torch::Tensor> both = trainer.model->parameters();
  for (const auto& each : second->parameters()) both.push_back(each);
  torch::optim::SGD optimizer(both, 0.05);
  trainer.inspector.attach(*trainer.model, optimizer, "first");
  trainer.inspector.attach(*second, optimizer, "second");
  for (int i = 0; i < 3; ++i) {
    if (i == 0) optimizer.zero_grad();
    second(trainer.model->forward(torch::randn({16, 6}))).pow(2).mean().backward();
    optimizer.step();
  }
  const std::vector<loupe::Finding> found = trainer.inspector.findings();
  ASSERT_EQ(found.size(), 2U) << "one for each model";
  EXPECT_EQ(found[0].first_step, 2U);
  EXPECT_EQ(found[1].first_step, 2U);
}

TEST(FindingsOfATrainer, IncludeEqualUnitsWithRoundingErrors) {
  for (const auto& [noise, rules] :
       {std::make_pair(1e-7, Names{"poor_initialization"}), std::make_pair(1e-3, Names())}) {
    Trainer trainer;
    {
      const torch::NoGradGuard guard;
      const torch::Tensor weight = trainer.model[0]->as<nn::Linear>()->weight;
      weight.copy_(torch::randn({1, weight.size(1)}).expand_as(weight) + noise * torch::randn_like(weight));
      trainer.model[0]->as<nn::Linear>()->bias.zero_();
      const torch::Tensor next = trainer.model[2]->as<nn::Linear>()->weight;
      next.copy_(torch::randn({next.size(0), 1}).expand_as(next));
    }
    trainer.attach();
    for (int i = 0; i < 3; ++i) trainer.step();
    EXPECT_EQ(trainer.rules(), rules) << noise;
  }
}

TEST(Hyperparameters, NeedAName) {
  Trainer trainer;
  EXPECT_THROW(trainer.inspector.set_hyperparameter("", 1), std::invalid_argument);
  EXPECT_NO_THROW(trainer.inspector.set_hyperparameter("batch size", 64));
  EXPECT_NO_THROW(trainer.inspector.set_hyperparameter("schedule", "cosine"));
}

// Rules judge windows of steps, and trainers tick epochs. Neither hides findings of the other.

/// With windows of 20 steps, so that a few hundred steps reach patience and cooldown.
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

TEST_P(EpochsOfSteps, HideNoDeadUnitsAndMakeNoHealthyRunIll) {
  for (const double bias : {dead, alive}) {
    loupe::Inspector inspector = inspector_with_short_windows();
    Net net(bias);
    inspector.attach(*net.model, *net.optimizer);
    for (int step = 1; step <= 120; ++step) {
      net.step();
      if (step % GetParam() == 0) inspector.tick_epoch();
    }
    EXPECT_EQ(tells(inspector, "dead_units"), bias == dead);
    for (const loupe::Finding& each : inspector.findings())
      EXPECT_TRUE(bias == dead || each.severity == LOUPE_SEVERITY_INFO) << each.message;
  }
}

INSTANTIATE_TEST_SUITE_P(ShorterAndLongerThanAWindow, EpochsOfSteps, ::testing::Values(3, 20, 23),
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

TEST(FindingsOfSeries, CountTheChannelsOfAConvolutionAsItsUnits) {
  loupe::Inspector inspector = inspector_with_short_windows();
  torch::manual_seed(4);
  nn::Sequential model(nn::Conv1d(2, 16, 3), nn::ReLU(), nn::Flatten(), nn::Linear(16 * 9, 3));
  torch::nn::init::constant_(model[0]->as<nn::Conv1d>()->bias, dead);
  torch::optim::SGD optimizer(model->parameters(), 0.05);
  inspector.attach(*model, optimizer);
  for (int step = 0; step < 60; ++step) {
    optimizer.zero_grad();
    nn::functional::cross_entropy(model->forward(torch::randn({16, 2, 11})), torch::randint(3, {16})).backward();
    optimizer.step();
  }
  const std::vector<loupe::Finding> found = inspector.findings();
  const auto silent =
      std::find_if(found.begin(), found.end(), [](const auto& each) { return each.rule == "dead_units"; });
  ASSERT_NE(silent, found.end());
  EXPECT_NE(silent->message.find("16 of 16 units"), std::string::npos) << silent->message;
}

TEST(FindingsOfSeveralModels, NameARateThatIsZeroForOneOfThemAndNotItsEffect) {
  loupe::Inspector inspector = loupe::Inspector::from_text("attach: {summary: false}\nlenses: [health]\n");
  torch::manual_seed(4);
  nn::Linear body(6, 8), head(8, 3);
  const auto group = [](const auto& model, double rate) {
    return torch::optim::OptimizerParamGroup(model->parameters(), std::make_unique<torch::optim::SGDOptions>(rate));
  };
  torch::optim::SGD optimizer(std::vector<torch::optim::OptimizerParamGroup>{group(body, 0), group(head, 0.05)},
                              torch::optim::SGDOptions(0.05));
  inspector.attach(*body, optimizer, "body");
  inspector.attach(*head, optimizer, "head");
  for (int step = 0; step < 4; ++step) {
    optimizer.zero_grad();
    nn::functional::cross_entropy(head(body(torch::randn({16, 6})).tanh()), torch::randint(3, {16})).backward();
    optimizer.step();
  }
  EXPECT_TRUE(tells(inspector, "zero_learning_rate"));
  EXPECT_FALSE(tells(inspector, "no_effect"));
}

/// Whether health finds lost state if trained weights go on with the same optimizer or a new one.
bool misses_a_state(bool is_new) {
  torch::manual_seed(3);
  nn::Sequential model(nn::Linear(6, 3));
  torch::optim::Adam trained(model->parameters(), 0.05), fresh(model->parameters(), 0.05);
  const auto inputs = torch::randn({256, 6});
  const auto targets = inputs.slice(1, 0, 3).argmax(1);
  const auto step = [&](torch::optim::Optimizer& optimizer) {
    optimizer.zero_grad();
    nn::functional::cross_entropy(model->forward(inputs), targets).backward();
    optimizer.step();
  };
  for (int i = 0; i < 200; ++i) step(trained);
  auto inspector = loupe::Inspector::from_text("attach: {summary: false}\nlenses: [health]\n");
  torch::optim::Adam& optimizer = is_new ? fresh : trained;
  inspector.attach(*model, optimizer);
  for (int i = 0; i < 3; ++i) step(optimizer);
  inspector.tick_epoch();
  return tells(inspector, "lost_state");
}

TEST(LostState, IsReportedForANewOptimizerOfTrainedWeights) {
  EXPECT_TRUE(misses_a_state(/*is_new=*/true));
  EXPECT_FALSE(misses_a_state(/*is_new=*/false));
}

}  // namespace
