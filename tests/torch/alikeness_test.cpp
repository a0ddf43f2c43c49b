// Findings about models that give all samples the same output, and models that may do so on purpose.

#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <torch/torch.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace {

namespace nn = torch::nn;
using torch::Tensor;

class AlikenessTest : public ::testing::Test {
 protected:
  AlikenessTest() { torch::manual_seed(5); }
  void train(nn::Sequential& model, const std::function<Tensor()>& loss) {
    torch::optim::Adam optimizer(model->parameters(), 0.02);
    inspector_.attach(*model, optimizer, "model");
    for ([[maybe_unused]] int epoch : inspector_.epochs(5)) {
      model->train();
      for (int i = 0; i < 80; ++i) {
        optimizer.zero_grad();
        loss().backward();
        optimizer.step();
      }
    }
  }
  /// The severity and message ("info: …") of the first finding of a rule; "" if there is no finding.
  std::string told(const std::string& rule) const {
    for (const loupe::Finding& each : inspector_.findings()) {
      if (each.rule == rule) return (each.severity == LOUPE_SEVERITY_INFO ? "info: " : "warning: ") + each.message;
    }
    return "";
  }

  loupe::Inspector inspector_ = loupe::Inspector::from_text("attach: {summary: false}\nlenses: [health]\n");
};

bool has(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

nn::Sequential policy() {
  return nn::Sequential(nn::Linear(8, 16), nn::Tanh(), nn::Linear(16, 3), nn::LogSoftmax(1));
}

TEST_F(AlikenessTest, OfAPolicyThatChoosesOneActionForAllIsInformation) {
  auto model = policy();
  train(model, [&] { return -model->forward(torch::randn({32, 8})).select(1, 2).mean(); });
  EXPECT_TRUE(has(told("collapsed_output"), "info: ")) << told("collapsed_output");
  EXPECT_TRUE(has(told("collapsed_output"), "chooses 2 of 3")) << told("collapsed_output");
}

TEST_F(AlikenessTest, IsNotReportedForAPolicyWhoseCertainChoicesDependOnItsInput) {
  auto model = policy();
  train(model, [&] {
    const auto seen = torch::randn({32, 8});
    const auto best = seen.select(1, 0).gt(0).to(torch::kLong).unsqueeze(1);
    return -model->forward(seen).gather(1, best).mean();
  });
  EXPECT_EQ(told("collapsed_output"), "");
}

/// Loupe cannot read targets from a hand-written loss, so it judges sizes: the targets' mean is large, yet they differ.
TEST_F(AlikenessTest, IsNotReportedForOutputsWithALargeMean) {
  nn::Sequential model(nn::Linear(8, 16), nn::Tanh(), nn::Linear(16, 6));
  train(model, [&] {
    const auto error = [&] {
      const auto seen = torch::randn({32, 8});
      return (model->forward(seen) - 10 - seen.slice(1, 0, 6)).square().mean();
    };
    return error() + error();
  });
  EXPECT_EQ(told("collapsed_output"), "");
}

/// As in triplets: the rows of a run are of one class, and those of another run of the step are of another one.
TEST_F(AlikenessTest, IsNotReportedForRunsThatHaveOneClassEach) {
  nn::Sequential model(nn::Linear(6, 16), nn::Tanh(), nn::Linear(16, 8));
  train(model, [&] {
    const auto of_class = [&](double middle) {
      auto seen = torch::randn({32, 6});
      seen.select(1, 0) += middle;
      return model->forward(seen);
    };
    const auto far = nn::functional::TripletMarginLossFuncOptions().margin(8);
    return nn::functional::triplet_margin_loss(of_class(4), of_class(4), of_class(-4), far);
  });
  EXPECT_EQ(told("collapsed_output"), "");
}

}  // namespace
