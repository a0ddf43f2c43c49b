#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <loupe/recorders.h>
#include <torch/torch.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "paths.h"

namespace loupe::recorders {
namespace {

torch::nn::Sequential model_of_three() {
  torch::manual_seed(1);
  return torch::nn::Sequential(torch::nn::Linear(3, 4), torch::nn::ReLU(torch::nn::ReLUOptions(/*inplace=*/true)),
                               torch::nn::Linear(4, 2));
}

at::Tensor add(const at::Tensor& recorded, const at::Tensor& comes) {
  return recorded + comes;
}

std::filesystem::path folder(const std::string& name) {
  const auto path = std::filesystem::path(testing::TempDir()) / ("loupe-recorders-" + name);
  std::filesystem::remove_all(path);
  return path;
}

TEST(Recorders, RecordWhatTheirNamesSay) {
  auto model = model_of_three();
  ForwardPre before;
  ForwardInput after;
  ForwardOutput output;
  for (Recorder* recorder : std::initializer_list<Recorder*>{&before, &after, &output}) recorder->children(*model);
  const at::Tensor input = torch::randn({5, 3});
  const at::Tensor result = model->forward(input);

  const at::Tensor hidden = model[0]->as<torch::nn::Linear>()->forward(input);
  EXPECT_TRUE(at::equal(before[0][0], input));
  EXPECT_TRUE(at::equal(before[1][0], hidden));
  EXPECT_TRUE(at::equal(after[1][0], hidden.relu())) << "an in-place module changes its input";
  EXPECT_TRUE(at::equal(output[0][0], hidden)) << "the recorded tensor is a copy";
  EXPECT_TRUE(at::equal(output[2][0], result));
}

TEST(Recorders, RecordGradients) {
  auto model = model_of_three();
  BackwardInput input;
  BackwardOutput output;
  input.children(*model, {.indices = {2}});
  output.children(*model, {.indices = {2}});
  const at::Tensor result = model->forward(torch::randn({5, 3}));
  result.sum().backward();
  ASSERT_EQ(output[0].size(), 1U);
  EXPECT_TRUE(at::equal(output[0][0], torch::ones({5, 2})));
  ASSERT_EQ(input[0].size(), 1U);
  const at::Tensor weight = model[2]->as<torch::nn::Linear>()->weight;
  EXPECT_TRUE(at::allclose(input[0][0], torch::ones({5, 2}).mm(weight.detach())));
}

TEST(Recorders, AskTheConditionFoldAndTakeSamples) {
  auto model = model_of_three();
  bool wanted = true;
  ForwardPre folded({.condition = [&] { return wanted; }, .reduction = add});
  ForwardPre sampled({.reduction = add, .keep = Keep::sample});
  folded.children(*model, {.types = {"Linear"}});
  sampled.children(*model, {.indices = {0}});
  model->forward(torch::ones({5, 3}));
  wanted = false;
  model->forward(torch::ones({5, 3}));
  wanted = true;
  model->forward(torch::ones({5, 3}));
  ASSERT_EQ(folded.size(), 2U);
  ASSERT_EQ(folded[0].size(), 1U);
  EXPECT_TRUE(at::equal(folded[0][0], 2 * torch::ones({5, 3})));
  EXPECT_EQ(folded.iter_samples(), (std::vector<std::size_t>{10, 10}));
  EXPECT_TRUE(at::equal(sampled[0][0], 3 * torch::ones({3})));
  EXPECT_EQ(sampled.samples(0), 3U);
}

TEST(Recorders, RegisterByTypesAndIndices) {
  auto model = model_of_three();
  EXPECT_EQ(ForwardOutput().children(*model).size(), 3U);
  EXPECT_EQ(ForwardOutput().modules(*model).size(), 3U) << "the container is not counted";
  EXPECT_EQ(ForwardOutput().modules(*model, {.types = {"torch::nn::LinearImpl"}}).size(), 2U);
  EXPECT_EQ(ForwardOutput().modules(*model, {.types = {"Linear"}, .indices = {1, 2}}).size(), 1U);
  EXPECT_THROW(ForwardOutput().children(*model, {.indices = {3}}), std::invalid_argument);
  EXPECT_THROW(ForwardOutput().children(*model, {.types = {"Conv2d"}}), std::invalid_argument);
  EXPECT_EQ(Inspector::redirected_calls(), 0U);
}

TEST(Recorders, ApplyKeepsItsResults) {
  auto model = model_of_three();
  ForwardPre recorder;
  recorder.children(*model, {.indices = {0}});
  model->forward(torch::ones({5, 3}));
  recorder.apply([](const at::Tensor& tensor) { return tensor * 2; });
  recorder.apply_sample(
      [](const at::Tensor& tensor, std::size_t samples) { return tensor.sum(0) / static_cast<double>(samples); });
  EXPECT_TRUE(at::equal(recorder[0][0], 2 * torch::ones({3})));
}

TEST(Recorders, RemoveReturnsTheDataAndEndsTheRecording) {
  auto model = model_of_three();
  ForwardPre recorder;
  recorder.children(*model);
  model->forward(torch::ones({5, 3}));
  EXPECT_TRUE(at::equal(recorder.remove(0).at(0), torch::ones({5, 3})));
  model->forward(torch::ones({5, 3}));
  EXPECT_EQ(recorder.size(), 2U);
  std::size_t tensors = 0;
  for (const auto& each : recorder) tensors += each.size();
  EXPECT_EQ(tensors, 4U);
  EXPECT_EQ(recorder.data().size(), 2U);
  EXPECT_THROW(recorder.samples(2), std::out_of_range);
}

TEST(Recorders, SavedFilesLoadInCpp) {
  auto model = model_of_three();
  ForwardPre folded({.reduction = add}), listed;
  folded.children(*model, {.indices = {0}});
  listed.children(*model, {.indices = {0}});
  model->forward(torch::ones({5, 3}));
  model->forward(torch::full({1, 3}, 2.0F).expand({5, 3}));
  const auto saved = folder("cpp");
  EXPECT_THROW(folded.save(saved / "none"), std::runtime_error);
  folded.save(saved / "folded", true);
  listed.save(saved / "listed", true);

  at::Tensor one;
  torch::load(one, (saved / "folded" / "0.pt").string());
  EXPECT_TRUE(at::equal(one, 3 * torch::ones({5, 3})));
  std::vector<at::Tensor> list;
  torch::load(list, (saved / "listed" / "0.pt").string());
  ASSERT_EQ(list.size(), 2U);
  EXPECT_TRUE(at::equal(list[1], 2 * torch::ones({5, 3})));
}

TEST(Recorders, SavedFilesLoadInPython) {
  auto model = model_of_three();
  ForwardPre folded({.reduction = add}), listed;
  folded.children(*model, {.indices = {0}});
  listed.children(*model, {.indices = {0}});
  model->forward(torch::arange(15.0).reshape({5, 3}).to(torch::kFloat));
  model->forward(torch::ones({2, 3}).sum(0, true).expand({5, 3}));
  const auto saved = folder("python");
  folded.save(saved / "folded", true);
  listed.save(saved / "listed", true);
  listed.apply([](const at::Tensor& tensor) { return tensor.to(torch::kBFloat16).t(); });
  listed.save(saved / "half", true);
  std::ofstream(saved / "read.py") << R"(import sys, torch
folded, listed, half = (torch.load(f"{sys.argv[1]}/{name}/0.pt") for name in ("folded", "listed", "half"))
first, second = torch.arange(15.).reshape(5, 3), torch.full((5, 3), 2.)
assert torch.equal(folded, first + second), folded
assert len(listed) == 2 and torch.equal(listed[0], first) and torch.equal(listed[1], second), listed
assert half[0].dtype == torch.bfloat16 and torch.equal(half[0].float(), first.t()), half
)";
  EXPECT_EQ(std::system((TORCH_PYTHON + " " + (saved / "read.py").string() + " " + saved.string()).c_str()), 0)
      << TORCH_PYTHON + " needs torch; install it (python3-torch), or name another Python by -DLOUPE_TORCH_PYTHON";
}

}  // namespace
}  // namespace loupe::recorders
