// Findings about linear layers that follow each other directly, and about element types of few bits.

#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <torch/torch.h>

#include <functional>
#include <string>
#include <vector>

namespace {

namespace nn = torch::nn;

/// Trains the model and returns the findings of the rule as "layer: message".
std::vector<std::string> said(nn::Sequential model, const std::string& rule,
                              const std::function<torch::Tensor(const torch::Tensor&)>& loss_of,
                              const std::function<void(torch::Tensor& gradient)>& on_gradient = nullptr) {
  loupe::Inspector inspector =
      loupe::Inspector::from_text("attach: {summary: false}\nlenses: [{health: {window: 20}}]\n");
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(1e-5).eps(1e-15));
  inspector.attach(*model, optimizer);
  for (int step = 0; step < 100; ++step) {
    optimizer.zero_grad();
    loss_of(model->forward(torch::randn({16, 12}))).backward();
    for (torch::Tensor& each : model->parameters()) {
      if (on_gradient) on_gradient(each.mutable_grad());
    }
    optimizer.step();
  }
  std::vector<std::string> found;
  for (const loupe::Finding& each : inspector.findings()) {
    if (each.rule == rule) found.push_back(each.layer + ": " + each.message);
  }
  return found;
}

torch::Tensor squared(const torch::Tensor& output) {
  return (output - 1).square().mean();
}

TEST(LinearChain, IsReportedOnceForALongChain) {
  torch::manual_seed(1);
  const auto found = said(nn::Sequential(nn::Linear(12, 16), nn::Linear(16, 16), nn::Linear(16, 16), nn::Linear(16, 4)),
                          "linear_chain", squared);
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found[0],
            "1: '1' takes the output of '0' unchanged: two linear layers in a row can do no more than one; so do 2 "
            "more");
}

TEST(LinearChain, IsNotReportedWithAnythingBetweenTheLayers) {
  torch::manual_seed(2);
  EXPECT_TRUE(said(nn::Sequential(nn::Linear(12, 16), nn::ReLU(), nn::Linear(16, 4)), "linear_chain", squared).empty());
  EXPECT_TRUE(said(nn::Sequential(nn::Linear(12, 16), nn::LayerNorm(nn::LayerNormOptions({16})), nn::Linear(16, 4)),
                   "linear_chain", squared)
                  .empty());
  EXPECT_TRUE(
      said(nn::Sequential(nn::Linear(12, 16), nn::Functional(torch::tanh), nn::Linear(16, 4)), "linear_chain", squared)
          .empty());
}

TEST(LinearChain, IsIntendedIfTheMiddleIsNarrow) {
  torch::manual_seed(3);
  EXPECT_TRUE(said(nn::Sequential(nn::Linear(12, 2), nn::Linear(2, 12)), "linear_chain", squared).empty());
}

nn::Sequential net() {
  return nn::Sequential(nn::Linear(12, 16), nn::GELU(), nn::Linear(16, 4));
}

TEST(Underflow, IsNotReportedForGradientsThatAreSmallOrMostlyZero) {
  torch::manual_seed(6);
  const auto tiny = [](const torch::Tensor& output) { return squared(output) * 1e-9; };
  EXPECT_TRUE(said(net(), "gradient_underflow", tiny).empty());
  EXPECT_TRUE(said(net(), "gradient_underflow", tiny, [](torch::Tensor& gradient) {
                gradient = gradient.to(torch::kBFloat16).to(torch::kFloat);
              }).empty());
  EXPECT_TRUE(said(net(), "gradient_underflow", tiny, [](torch::Tensor& gradient) {
                gradient = gradient * (torch::rand_like(gradient) < 0.2);
              }).empty());
  // Counts over a batch are multiples of a power of 2, too.
  EXPECT_TRUE(said(net(), "gradient_underflow", squared, [](torch::Tensor& gradient) {
                gradient = torch::randint(-1, 2, gradient.sizes()).div(1 << 20).to(torch::kFloat) *
                           (torch::rand_like(gradient) < 0.5);
              }).empty());
}

}  // namespace
