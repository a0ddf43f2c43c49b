// The lens health does not measure everything in every step. It lets streams rest only if other streams show the same.

#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <torch/torch.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "paths.h"

namespace {

namespace nn = torch::nn;

/// A perceptron with one parameter group for weights and one for biases, and a loop that tests can spoil.
struct RestingTrainer {
  explicit RestingTrainer(const std::string& run = "{}")
      : inspector(loupe::Inspector::from_text("run: " + run +
                                              "\nattach: {summary: false}\n"
                                              // Such a small layer often has dead units.
                                              "lenses: [health: {off: [dead_units, constant_output]}]\n")) {
    inspector.attach(*model, optimizer);
  }
  std::vector<torch::Tensor> all(const std::string& name) {
    std::vector<torch::Tensor> found;
    for (const auto& each : model->named_parameters()) {
      if (each.key().find(name) != std::string::npos) found.push_back(each.value());
    }
    return found;
  }
  void set_rate(std::size_t group, double rate) {
    static_cast<torch::optim::SGDOptions&>(optimizer.param_groups()[group].options()).lr(rate);
  }
  void step() {
    for (const torch::Tensor& each : model->parameters()) {
      if (clears && !each.is_same(not_cleared) && each.grad().defined()) each.grad().zero_();
    }
    torch::Tensor scores = model->forward(torch::randn({16, 6}).to(type)).to(torch::kFloat32);
    if (detaches) scores = scores.detach() + model[4]->as<nn::Linear>()->bias;
    const auto loss = nn::functional::cross_entropy(scores, torch::randint(3, {16}));
    (factor * loss).backward();
    if (spoils.defined()) spoils.mutable_grad().fill_(std::numeric_limits<double>::quiet_NaN());
    optimizer.step();
    inspector.push_loss(loss, true);
  }
  void steps(int count) {
    for (int i = 0; i < count; ++i) step();
  }
  std::string found() const {
    std::string found;
    for (const loupe::Finding& each : inspector.findings()) {
      found += each.rule + (each.parameter.empty() ? "" : " " + each.layer + "." + each.parameter) + " at " +
               std::to_string(each.first_step) + "; ";
    }
    return found;
  }

  static nn::Sequential made() {
    torch::manual_seed(5);
    return nn::Sequential(nn::Linear(6, 8), nn::ReLU(), nn::Linear(8, 16), nn::ReLU(), nn::Linear(16, 3));
  }

  bool clears = true, detaches = false;
  double factor = 1;  ///< the loss is multiplied by this
  torch::Tensor not_cleared, spoils;
  torch::ScalarType type = torch::kFloat32;
  loupe::Inspector inspector;
  nn::Sequential model = made();
  torch::optim::SGD optimizer{
      {torch::optim::OptimizerParamGroup(all("weight")), torch::optim::OptimizerParamGroup(all("bias"))},
      torch::optim::SGDOptions(0.01)};
};

/// The parameter is the number of steps before the test: none rest yet, the first rest, a later rest.
class ParametersThatRest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    trainer.steps(GetParam());
    ASSERT_EQ(trainer.found(), "");
  }
  std::string next() const { return std::to_string(GetParam() + 1); }
  RestingTrainer trainer;
};

TEST_P(ParametersThatRest, ShowThatTheirGradientsAreNotCleared) {
  trainer.clears = false;
  trainer.step();
  EXPECT_EQ(trainer.found(), "gradients_not_cleared at " + next() + "; ");
}

TEST_P(ParametersThatRest, ShowAStepWithoutEffect) {
  for (const std::size_t group : {0U, 1U}) trainer.set_rate(group, 1e-30);
  trainer.step();
  EXPECT_EQ(trainer.found(), "no_effect at " + next() + "; ");
}

TEST_P(ParametersThatRest, ShowWithinTwoStepsThatTheLossDoesNotReachThem) {
  trainer.detaches = true;
  for (auto& each : trainer.model->parameters()) each.mutable_grad().reset();
  trainer.steps(3);
  EXPECT_NE(trainer.found().find("unchanged_parameter 0.weight at "), std::string::npos) << trainer.found();
}

TEST_P(ParametersThatRest, AreBlamedIfAStepSpoiledThem) {
  trainer.set_rate(1, std::numeric_limits<double>::infinity());
  trainer.step();
  trainer.set_rate(1, 0.01);
  trainer.step();
  EXPECT_EQ(trainer.inspector.findings().size(), 1U);
  const auto found = trainer.inspector.findings().at(0);
  EXPECT_EQ(found.rule, "non_finite");
  EXPECT_EQ(found.parameter, "bias");
  EXPECT_EQ(found.layer, "0");
  EXPECT_NE(found.message.find("step"), std::string::npos) << found.message;
  EXPECT_NE(found.message.find("made the first NaN"), std::string::npos) << found.message;
}

TEST_P(ParametersThatRest, AreMeasuredAgainIfTheParametersThatShowedThemAreFrozen) {
  for (torch::Tensor& each : trainer.all("weight")) each.set_requires_grad(false);
  trainer.steps(4);
  EXPECT_EQ(trainer.found(), "");
  trainer.clears = false;
  trainer.steps(2);
  EXPECT_NE(trainer.found().find("gradients_not_cleared"), std::string::npos) << trainer.found();
}

/// The loop forgets to clear the gradient of a single parameter.
TEST_P(ParametersThatRest, ShowThatTheGradientOfASingleBiasIsNotCleared) {
  trainer.not_cleared = trainer.all("bias")[1];
  trainer.step();
  EXPECT_EQ(trainer.found(), "gradients_not_cleared at " + next() + "; ");
}

TEST_P(ParametersThatRest, ShowANaNThatAStepPutsIntoASingleBias) {
  trainer.spoils = trainer.all("bias")[1];
  trainer.step();
  ASSERT_EQ(trainer.inspector.findings().size(), 1U) << trainer.found();
  const auto found = trainer.inspector.findings().at(0);
  EXPECT_EQ(found.rule + " " + found.layer + "." + found.parameter, "non_finite 2.bias");
  EXPECT_EQ(std::to_string(found.first_step), next());
  EXPECT_NE(found.message.find("gradient"), std::string::npos) << found.message;
}

TEST_P(ParametersThatRest, ShowThatOneStaysSinceItsOptimizerNoLongerHoldsIt) {
  auto& held = trainer.optimizer.param_groups()[1].params();
  held.erase(held.begin());
  trainer.steps(4);
  EXPECT_NE(trainer.found().find("unchanged_parameter 0.bias at "), std::string::npos) << trainer.found();
}

TEST_P(ParametersThatRest, ShowThatTheWholeModelIsInEvalMode) {
  trainer.model->eval();
  trainer.step();
  EXPECT_EQ(trainer.found(), "mode_mismatch at " + next() + "; ");
}

INSTANTIATE_TEST_SUITE_P(After, ParametersThatRest, testing::Values(1, 6, 300));

/// A model in which health only tallies the outputs between the first and the last layer.
class LayersThatAreAddedUp : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    torch::manual_seed(7);
    inspector.attach(*model, optimizer);
    steps(GetParam());
    ASSERT_EQ(told(), "");
  }
  void step() {
    optimizer.zero_grad();
    const torch::Tensor batch = torch::randn({32, 6});
    const auto loss = nn::functional::cross_entropy(model->forward(batch), (batch.select(1, 0) > 0).to(torch::kLong));
    loss.backward();
    optimizer.step();
    inspector.push_loss(loss, true);
  }
  void steps(int count) {
    for (int i = 0; i < count; ++i) step();
  }
  std::string told() const {
    std::string told;
    for (const loupe::Finding& each : inspector.findings()) {
      if (each.severity != LOUPE_SEVERITY_INFO) told += each.rule + " of " + each.layer + "; ";
    }
    return told;
  }
  void fill(std::size_t layer, const char* parameter, float value) {
    const torch::NoGradGuard guard;
    model[layer]->named_parameters()[parameter].fill_(value);
  }

  nn::Sequential model{nn::Linear(6, 16),  nn::ReLU(), nn::Linear(16, 16), nn::ReLU(),
                       nn::Linear(16, 16), nn::Tanh(), nn::Linear(16, 2)};
  torch::optim::SGD optimizer{model->parameters(), 0.01};
  loupe::Inspector inspector = loupe::Inspector::from_text(
      "attach: {summary: false}\nlenses: [health: {off: [update_ratio, vanishing_gradient, loss_spike]}]\n");
};

TEST_P(LayersThatAreAddedUp, ShowThatTheirUnitsDied) {
  fill(2, "bias", -1000);
  steps(310);  // the finding comes after two windows of 100 steps
  EXPECT_NE(told().find("dead_units of 3; "), std::string::npos) << told();
}

TEST_P(LayersThatAreAddedUp, ShowThatTheyAreSaturated) {
  fill(4, "weight", 0);
  fill(4, "bias", 1000);
  steps(310);  // the finding comes after two windows of 100 steps
  EXPECT_NE(told().find("saturated_activation of 5; "), std::string::npos) << told();
}

TEST_P(LayersThatAreAddedUp, AreBlamedForTheNaNThatTheyMakeInThatStep) {
  fill(4, "weight", 0);
  fill(4, "bias", NAN);
  step();
  const auto found = inspector.findings();
  ASSERT_EQ(told(), "non_finite of 4; ");
  EXPECT_EQ(found[0].first_step, GetParam() + 1U);
}

TEST_P(LayersThatAreAddedUp, AreNotTakenForTheWholeModelInEvalMode) {
  model[5]->eval();
  steps(3);
  model[0]->eval();  // has no effect in a linear layer
  model[6]->eval();
  steps(3);
  for (const loupe::Finding& each : inspector.findings()) EXPECT_NE(each.rule, "mode_mismatch") << each.message;
}

INSTANTIATE_TEST_SUITE_P(After, LayersThatAreAddedUp, testing::Values(1, 6, 300));

TEST(ParametersThatRest, ShowThatAnUnmeasuredGradientSpoiledThem) {
  RestingTrainer trainer;
  trainer.steps(6);
  trainer.spoils = trainer.all("bias")[1];
  trainer.step();
  const std::string message = trainer.inspector.findings().at(0).message;
  EXPECT_NE(message.find("'bias' of '2' has the first NaN or Inf of this run: 16 NaN of 16 elements"),
            std::string::npos)
      << message;
}

TEST(ParametersThatRest, ShowThatTheirGradientJumps) {
  for (const int steps : {20, 47, 300}) {
    RestingTrainer trainer;
    trainer.steps(steps);
    trainer.factor = 1e4;
    trainer.step();
    EXPECT_NE(trainer.found().find(".weight at " + std::to_string(steps + 1)), std::string::npos) << trainer.found();
    EXPECT_EQ(trainer.found().find("exploding_gradient"), 0U) << trainer.found();
  }
}

TEST(ParametersThatRest, AreMeasuredInEachStepIfTheyHaveSixteenBits) {
  RestingTrainer trainer;
  trainer.model->to(torch::kBFloat16);
  trainer.type = torch::kBFloat16;
  trainer.set_rate(0, 0.5);
  trainer.steps(20);
  ASSERT_EQ(trainer.found().find("no_effect"), std::string::npos) << trainer.found();
  trainer.set_rate(0, 1e-3);
  trainer.steps(14);
  EXPECT_NE(trainer.found().find("no_effect 2.weight at "), std::string::npos) << trainer.found();
}

TEST(ParametersThatRest, AreKeptInIncidentsOfEachStepExceptForTheGradientsOfBiases) {
  const auto folder = std::filesystem::path(LOUPE_PROBE_FOLDER).parent_path() / "runs" / "resting";
  std::filesystem::remove_all(folder);
  RestingTrainer trainer("{name: trainer, dir: " + folder.string() + "}");
  trainer.steps(60);
  std::map<std::string, int> kept;
  std::ifstream steps(std::filesystem::path(trainer.inspector.dump("how often each was looked at")) /
                      "measurements.jsonl");
  for (std::string line; std::getline(steps, line);) {
    for (const char* stream : {"2 parameter_gradient weight", "2 parameter_gradient bias", "2 optimizer_step weight",
                               "2 optimizer_step bias"})
      kept[stream] += line.find(stream) != std::string::npos ? 1 : 0;
  }
  for (const char* stream : {"2 parameter_gradient weight", "2 optimizer_step weight", "2 optimizer_step bias"})
    EXPECT_GE(kept[stream], 59) << stream;
  EXPECT_GE(kept["2 parameter_gradient bias"], 3);
  EXPECT_LE(kept["2 parameter_gradient bias"], 15);
}

}  // namespace
