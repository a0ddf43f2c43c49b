#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <torch/torch.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace loupe {
namespace {

class RecorderLens : public testing::Test {
 protected:
  void SetUp() override {
    torch::manual_seed(1);
    directory_ =
        std::filesystem::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(directory_);
    model_ = torch::nn::Sequential(torch::nn::Linear(3, 4), torch::nn::ReLU(torch::nn::ReLUOptions(/*inplace=*/true)),
                                   torch::nn::Linear(4, 2));
  }
  Inspector watch(const std::string& options) {
    auto inspector = Inspector::from_text("loupe: 1\nrun: {dir: " + directory_.string() +
                                          "}\nlenses:\n  - recorder: {" + options + "}\n");
    inspector.attach(*model_);
    return inspector;
  }
  std::vector<at::Tensor> list(const std::string& file) const {
    std::vector<at::Tensor> tensors;
    torch::load(tensors, (directory_ / file).string());
    return tensors;
  }
  at::Tensor one(const std::string& file) const {
    at::Tensor tensor;
    torch::load(tensor, (directory_ / file).string());
    return tensor;
  }

  torch::nn::Sequential model_{nullptr};
  std::filesystem::path directory_;
};

TEST_F(RecorderLens, SavesEachKindOfTensorAsTheModuleSawIt) {
  auto inspector = Inspector::from_text("loupe: 1\nrun: {dir: " + directory_.string() + R"(}
lenses:
  - {recorder: {what: forward_pre}, as: a}
  - {recorder: {what: forward_input}, as: b}
  - {recorder: {what: forward_output}, as: c}
  - {recorder: {what: backward_input}, as: d}
  - {recorder: {what: backward_output}, as: e}
)");
  inspector.attach(*model_);
  const at::Tensor input = torch::randn({5, 3}).requires_grad_();
  const at::Tensor result = model_->forward(input);
  result.sum().backward();
  inspector.tick_epoch();

  const at::Tensor hidden =
      torch::linear(input, model_[0]->as<torch::nn::Linear>()->weight, model_[0]->as<torch::nn::Linear>()->bias);
  EXPECT_TRUE(at::equal(list("forward_pre/1.pt").at(0), hidden)) << "before the module changes it in place";
  EXPECT_TRUE(at::equal(list("forward_input/1.pt").at(0), hidden.relu())) << "an in-place module changes its input";
  EXPECT_TRUE(at::equal(list("forward_output/2.pt").at(0), result));
  EXPECT_TRUE(at::equal(list("backward_output/2.pt").at(0), torch::ones({5, 2})));
  EXPECT_TRUE(at::allclose(list("backward_input/0.pt").at(0), input.grad()));
  std::ifstream names(directory_ / "forward_pre" / "modules.txt");
  std::stringstream text;
  text << names.rdbuf();
  EXPECT_EQ(text.str(), "0.pt 0\n1.pt 1\n2.pt 2\n");
}

TEST_F(RecorderLens, FoldsIntoOneTensorByName) {
  for (const auto& [how, expected] :
       {std::pair("sum", 6.0), std::pair("mean", 2.0), std::pair("max", 3.0), std::pair("min", 1.0)}) {
    auto inspector = watch(std::string("what: forward_pre, indices: [1], reduction: ") + how);
    for (const float value : {2.0F, 1.0F, 3.0F}) model_->forward(torch::full({5, 3}, value));
    inspector.tick_epoch();
    EXPECT_TRUE(at::allclose(one("forward_pre/0.pt"), torch::full({5, 3}, expected))) << how;
  }
}

TEST_F(RecorderLens, TakesSamplesEveryNthTimeUpToALimitInTheModesAskedFor) {
  auto inspector = watch(
      "what: forward_pre, types: [Linear], indices: [1], keep: sample, every: 2, limit: 2, "
      "eval_update: false, path: some");
  model_->eval();
  model_->forward(torch::full({5, 3}, 9.0F));
  model_->train();
  for (int i = 0; i < 7; ++i) model_->forward(torch::full({5, 3}, static_cast<float>(i)));
  inspector.tick_epoch();
  const auto saved = list("some/0.pt");
  ASSERT_EQ(saved.size(), 2U);
  EXPECT_TRUE(at::equal(saved[0], torch::full({3}, 0.0F)));
  EXPECT_TRUE(at::equal(saved[1], torch::full({3}, 2.0F)));
  EXPECT_EQ(inspector.value("Recorded Samples", "0", "this epoch"), 2.0);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "some" / "1.pt")) << "only selected modules are recorded";
}

TEST_F(RecorderLens, ContinuesOverEpochsOrSeparatesThem) {
  for (const char* options : {"indices: [3]", "indices: [3], each_epoch: true, path: apart"}) {
    auto inspector = watch(options);
    for (int epoch = 0; epoch < 2; ++epoch) {
      model_->forward(torch::randn({5, 3}));
      inspector.tick_epoch();
    }
  }
  EXPECT_EQ(list("forward_output/0.pt").size(), 2U);
  EXPECT_EQ(list("apart/1/0.pt").size(), 1U);
  EXPECT_EQ(list("apart/2/0.pt").size(), 1U);
}

TEST_F(RecorderLens, KeepsTheFilesOfAnEarlierRun) {
  for (const char* options : {"indices: [3]", "indices: [3], each_epoch: true, path: apart"}) {
    for (int run = 1; run <= 2; ++run) {
      auto inspector = watch(options);
      for (int batch = 0; batch < run; ++batch) model_->forward(torch::randn({5, 3}));
      inspector.tick_epoch();
    }
  }
  EXPECT_EQ(list("older-1/forward_output/0.pt").size(), 1U);
  EXPECT_EQ(list("forward_output/0.pt").size(), 2U);
  EXPECT_EQ(list("older-1/apart/1/0.pt").size(), 1U);
  EXPECT_EQ(list("apart/1/0.pt").size(), 2U);
}

TEST_F(RecorderLens, KeepsReplacedFilesOfAResumedRun) {
  const auto record = [&](const std::string& options, int first, int last) {
    auto inspector = Inspector::from_text("loupe: 1\nrun: {resume: true, dir: " + directory_.string() +
                                          "}\nlenses:\n  - recorder: {indices: [3], " + options + "}\n");
    inspector.attach(*model_);
    for (int epoch = first; epoch <= last; ++epoch) {
      for (int batch = 0; batch < first; ++batch) model_->forward(torch::randn({5, 3}));
      inspector.tick_epoch(epoch);
    }
  };
  for (const int first : {1, 2}) record("path: all", first, 2);
  EXPECT_EQ(list("older-1/all/0.pt").size(), 2U);
  EXPECT_EQ(list("all/0.pt").size(), 2U);
  for (const int first : {1, 2}) record("each_epoch: true, path: apart", first, 2);
  EXPECT_EQ(list("apart/1/0.pt").size(), 1U);
  EXPECT_EQ(list("apart/older-1/2/0.pt").size(), 1U);
  EXPECT_EQ(list("apart/2/0.pt").size(), 2U);
}

TEST_F(RecorderLens, WritesThroughNoLinkLaidInTheMiddle) {
  auto inspector = watch("indices: [3]");
  model_->forward(torch::randn({5, 3}));
  inspector.tick_epoch();
  const auto victim = directory_ / "victim", file = directory_ / "forward_output/0.pt";
  std::ofstream(victim) << "precious";
  std::filesystem::remove(file);
  std::filesystem::create_symlink(victim, file);
  testing::internal::CaptureStderr();
  model_->forward(torch::randn({5, 3}));
  inspector.tick_epoch();
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("it is a symbolic link"), std::string::npos) << told;
  EXPECT_EQ(std::filesystem::file_size(victim), 8U);
}

TEST_F(RecorderLens, ReportsShapesThatDoNotFitAndTrainingContinues) {
  testing::internal::CaptureStderr();
  auto inspector = watch("indices: [1], reduction: sum");
  model_->forward(torch::randn({5, 3}));
  model_->forward(torch::randn({2, 3}));
  inspector.tick_epoch();
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("a tensor of shape [2, 4] cannot be folded into one of shape [5, 4], which came first"),
            std::string::npos)
      << told;
}

TEST_F(RecorderLens, ReportsAFolderThatCannotBeWritten) {
  testing::internal::CaptureStderr();
  std::ofstream(directory_.string()) << "a file is in the way";
  auto inspector = watch("indices: [1]");
  model_->forward(torch::randn({5, 3}));
  inspector.tick_epoch();
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("cannot make the folder '" + (directory_ / "forward_output").string()), std::string::npos)
      << told;
}

TEST_F(RecorderLens, RecordsTheGradientOfASelectedOutput) {
  torch::nn::LSTM lstm(3, 4);
  auto inspector = loupe::Inspector::from_text("lenses: [recorder: {what: backward_output, argument: 1, path: '" +
                                               directory_.string() + "'}]\nvisualizers: []\n");
  inspector.attach(*lstm);
  const auto hidden = std::get<0>(std::get<1>(lstm(torch::randn({5, 2, 3}))));
  hidden.mul(3).sum().backward();
  inspector.tick_epoch();
  std::vector<torch::Tensor> recorded;
  torch::load(recorded, (directory_ / "0.pt").string());
  ASSERT_EQ(recorded.size(), 1U);
  EXPECT_TRUE(recorded[0].equal(torch::full_like(hidden, 3)));
}

TEST_F(RecorderLens, RefusesImpossibleOptions) {
  EXPECT_THROW(watch("indices: [first]"), ConfigError);
  EXPECT_THROW(watch("reduction: product"), ConfigError);
}

}  // namespace
}  // namespace loupe
