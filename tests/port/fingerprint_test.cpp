// The lens `fingerprint`: which parts of a program's steps its file contains.

#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "examples/process.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class FingerprintLens : public testing::Test {
 protected:
  Inspector inspector(const std::string& options) const {
    return Inspector::from_text("loupe: 1\nrun: {dir: " + folder_.string() + "}\nlenses: [{fingerprint: {" + options +
                                "}}]\n");
  }
  void step(float value, const std::function<void(const at::Tensor&)>& before = {},
            const std::function<void(const at::Tensor&)>& after = {}) {
    optimizer_.zero_grad();
    const at::Tensor loss = model_->forward(torch::full({5, 3}, value)).pow(2).sum();
    if (before) before(loss);
    loss.backward();
    optimizer_.step();
    if (after) after(loss);
  }
  std::vector<Json> lines(const std::string& what = "", const std::string& file = "fingerprint.jsonl") const {
    std::vector<Json> lines;
    std::ifstream input(folder_ / file);
    for (std::string text; std::getline(input, text);) {
      lines.push_back(Json::parse(text));
      if (!what.empty() && lines.back().value("what", lines.back().value("kind", "")) != what) lines.pop_back();
    }
    return lines;
  }

  fs::path folder_ = fresh_folder();
  torch::nn::Sequential model_{torch::nn::Linear(3, 4), torch::nn::BatchNorm1d(4), torch::nn::ReLU()};
  torch::optim::Adam optimizer_{model_->parameters(), torch::optim::AdamOptions(0.5).betas({0.8, 0.9}).eps(1e-6)};
};

TEST_F(FingerprintLens, KeepsOnlyTheRequestedSteps) {
  auto watching = inspector("steps: 2");
  watching.attach(*model_, optimizer_);
  step(1);
  step(2);
  const std::string text = text_of(folder_ / "fingerprint.jsonl");
  ASSERT_FALSE(text.empty()) << "the file is written once it is complete";
  step(3);
  watching.tick_epoch();
  EXPECT_EQ(text_of(folder_ / "fingerprint.jsonl"), text);
  const auto inputs = lines("input");
  ASSERT_EQ(inputs.size(), 6U) << "three modules in two steps; a Sequential's own forward is not recorded";
  EXPECT_EQ(inputs[0]["sum"], 15.0);
  EXPECT_EQ(inputs[3]["sum"], 30.0);
  EXPECT_EQ(inputs[3]["step"], 2);
}

TEST_F(FingerprintLens, RecordsTheSettingsOfModulesAndOptimizers) {
  auto watching = inspector("steps: 1");
  watching.attach(*model_, optimizer_);
  step(1);
  const auto modules = lines("module");
  ASSERT_EQ(modules.size(), 4U);
  EXPECT_EQ(modules[0]["name"], "");
  EXPECT_EQ(modules[2]["type"], "BatchNorm1d");
  EXPECT_EQ(modules[2]["settings"], "4, eps=1e-05, momentum=0.1, affine=true, track_running_stats=true");
  const auto optimizers = lines("optimizer");
  ASSERT_EQ(optimizers.size(), 1U);
  EXPECT_EQ(optimizers[0]["type"], "Adam");
  EXPECT_EQ(optimizers[0]["lr"], 0.5);
  EXPECT_EQ(optimizers[0]["beta1"], 0.8);
  EXPECT_EQ(optimizers[0]["beta2"], 0.9);
  EXPECT_EQ(optimizers[0]["eps"], 1e-6);
  EXPECT_EQ(optimizers[0]["amsgrad"], false);
}

TEST_F(FingerprintLens, HasTheWeightsBeforeAStepAndTheirChanges) {
  auto watching = inspector("steps: 1");
  watching.attach(*model_, optimizer_);
  {
    const torch::NoGradGuard no_grad;  // change the weights after the model was attached
    model_[0]->as<torch::nn::Linear>()->bias.fill_(0.25);
  }
  const at::Tensor before = model_[1]->as<torch::nn::BatchNorm1d>()->bias.detach().clone();
  step(1);
  for (const Json& each : lines("parameter")) {
    EXPECT_EQ(each["step"], 0);
    if (each["module"] == "0" && each["name"] == "bias") {
      EXPECT_EQ(each["values"], Json(std::vector<double>(4, 0.25)));
    }
  }
  const at::Tensor change = model_[1]->as<torch::nn::BatchNorm1d>()->bias.detach() - before;
  const auto updates = lines("update");
  const auto own = std::find_if(updates.begin(), updates.end(),
                                [](const Json& each) { return each["module"] == "1" && each["name"] == "bias"; });
  ASSERT_NE(own, updates.end());
  EXPECT_NEAR(own->at("sum").get<double>(), change.sum().item<double>(), 1e-6);
  EXPECT_EQ(lines("gradient").size(), updates.size());
  const auto buffers = lines("buffer");
  EXPECT_EQ(std::count_if(buffers.begin(), buffers.end(), [](const Json& each) { return each["step"] == 0; }), 3);
  EXPECT_EQ(std::count_if(buffers.begin(), buffers.end(), [](const Json& each) { return each["step"] == 1; }), 3);
}

TEST_F(FingerprintLens, AssignsALossToItsStepWheneverItIsPushed) {
  auto watching = inspector("steps: 3");
  watching.attach(*model_, optimizer_);
  const auto push = [&](const at::Tensor& loss) { watching.push_loss(loss, /*train=*/true); };
  step(1, push);
  step(2, {}, push);
  step(3, push);
  const auto losses = lines("loss");
  ASSERT_EQ(losses.size(), 3U);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(losses[static_cast<std::size_t>(i)]["step"], i + 1);
}

TEST_F(FingerprintLens, DistinguishesCallsOfAModule) {
  auto watching = inspector("steps: 1");
  watching.attach(*model_, optimizer_);
  {
    const torch::NoGradGuard no_grad;
    model_->eval();
    model_->forward(torch::zeros({2, 3}));
    model_->train();
  }
  step(1);
  std::vector<Json> outputs = lines("output");
  outputs.erase(std::remove_if(outputs.begin(), outputs.end(), [](const Json& each) { return each["module"] != "1"; }),
                outputs.end());
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(outputs[0]["call"], 0);
  EXPECT_EQ(outputs[0]["training"], false);
  EXPECT_EQ(outputs[1]["call"], 1);
  EXPECT_EQ(outputs[1]["training"], true);
}

TEST_F(FingerprintLens, WritesTheStepsOfARunThatEndsEarlyAndSaysSo) {
  testing::internal::CaptureStderr();
  {
    auto watching = inspector("steps: 5");
    watching.attach(*model_, optimizer_);
    step(1);
  }
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("only 1 of 5 steps were seen"), std::string::npos) << told;
  EXPECT_EQ(lines("loss").size(), 0U);
  EXPECT_EQ(lines("optimizer").size(), 1U);
}

TEST_F(FingerprintLens, WritesEachTensorAtOnceForTheProgramMayFail) {
  auto watching = inspector("steps: 3");
  watching.attach(*model_, optimizer_);
  model_->push_back(torch::nn::Linear(5, 6));  // this layer takes 5 numbers, and gets 4
  EXPECT_THROW(model_->forward(torch::ones({5, 3})), c10::Error);
  std::vector<std::string> names;
  for (const Json& each : lines("output")) names.push_back(each["module"]);
  EXPECT_EQ(names, (std::vector<std::string>{"0", "1", "2"})) << "the inspector is still watching";
  EXPECT_EQ(lines("parameter").size(), 4U);
}

TEST_F(FingerprintLens, KeepsTheFileOfAnEarlierRun) {
  for (const float value : {1.0F, 2.0F}) {
    auto watching = inspector("steps: 1, path: own.jsonl");
    watching.attach(*model_, optimizer_);
    step(value);
  }
  EXPECT_EQ(lines("input", "own.jsonl").at(0)["sum"], 30.0);
  EXPECT_EQ(lines("input", "older-1/own.jsonl").at(0)["sum"], 15.0);
}

TEST_F(FingerprintLens, CountsNonFiniteElementsAndSumsTheOthers) {
  auto watching = inspector("steps: 1");
  watching.attach(*model_, optimizer_);
  at::Tensor input = torch::ones({5, 3});
  input[0][0] = NAN;
  input[1][1] = INFINITY;
  model_->forward(input).sum().backward();
  optimizer_.step();
  const Json first = lines("input").at(0);
  EXPECT_EQ(first["non_finite"], 2);
  EXPECT_EQ(first["sum"], 13.0);
  EXPECT_EQ(first["values"][0], "NaN");
  EXPECT_EQ(first["values"][4], "Infinity");
  EXPECT_EQ(first["sums"], Json::parse("[[2,2,3,3,3],[4,4,5]]"));
}

TEST_F(FingerprintLens, DistinguishesModulesOfSeveralModels) {
  torch::nn::Linear other(3, 2);
  torch::optim::SGD other_optimizer(other->parameters(), 0.1);
  auto watching = inspector("steps: 1");
  watching.attach(*model_, optimizer_, "first");
  watching.attach(*other, other_optimizer, "second");
  other->forward(torch::ones({1, 3})).sum().backward();
  other_optimizer.step();
  step(1);
  std::vector<std::string> names;
  for (const Json& each : lines("module")) names.push_back(each["name"]);
  EXPECT_EQ(names, (std::vector<std::string>{"", "0", "1", "2", "second"}));
  const auto optimizers = lines("optimizer");
  ASSERT_EQ(optimizers.size(), 2U);
  EXPECT_EQ(optimizers[0]["type"], "SGD");
  EXPECT_EQ(optimizers[1]["type"], "Adam");
  EXPECT_EQ(optimizers[0]["step"], optimizers[1]["step"]) << "only the steps of the first optimizer count";
}

}  // namespace
}  // namespace loupe::test
