// Wrong inputs of loss functions cause a finding immediately; correct inputs cause none.

#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <torch/torch.h>

#include <cmath>
#include <functional>
#include <optional>
#include <string>

namespace {

namespace nn = torch::nn;
namespace F = torch::nn::functional;
using torch::Tensor;

/// The finding of a rule after two steps with a loss of a linear model's outputs for 8 samples.
std::optional<loupe::Finding> told_of(const std::function<Tensor(const Tensor&)>& loss,
                                      const std::string& rule = "loss_input", int64_t outputs = 5) {
  auto inspector = loupe::Inspector::from_text("attach: {summary: false}\nlenses: [health]\n");
  torch::manual_seed(1);
  nn::Sequential model(nn::Linear(6, outputs));
  torch::optim::SGD optimizer(model->parameters(), 0.01);
  inspector.attach(*model, optimizer);
  for (int step = 0; step < 2; ++step) {
    optimizer.zero_grad();
    const Tensor made = loss(model->forward(torch::randn({8, 6})));
    inspector.push_loss(made, true);
    made.backward();
    optimizer.step();  // while the loss keeps its graph
  }
  for (const loupe::Finding& each : inspector.findings()) {
    if (each.rule == rule) return each;
  }
  return std::nullopt;
}

Tensor classes(int64_t count = 5) {
  return torch::arange(8).remainder(count);
}

void expect(const std::optional<loupe::Finding>& told, uint32_t severity, const std::string& words) {
  ASSERT_TRUE(told);
  EXPECT_EQ(told->severity, severity);
  EXPECT_NE(told->message.find(words), std::string::npos) << told->message;
}

TEST(LossInput, OfAnElementwiseLossIsAsManyAsItsTargets) {
  const auto column = [](const auto& loss) {
    return told_of([&](const Tensor& out) { return loss(out, torch::randn({8})); }, "loss_input", 1);
  };
  const std::string words = "an input of [8, 1] and a target of";
  expect(column([](auto& out, auto target) { return F::mse_loss(out, target); }), LOUPE_SEVERITY_ERROR, words);
  expect(column([](auto& out, auto target) { return torch::mse_loss(out, target); }), LOUPE_SEVERITY_ERROR, words);
  expect(column([](auto& out, auto target) { return torch::l1_loss(out, target); }), LOUPE_SEVERITY_ERROR, words);
  expect(column([](auto& out, auto target) { return F::smooth_l1_loss(out, target); }), LOUPE_SEVERITY_ERROR, words);
  EXPECT_FALSE(column([](auto& out, auto target) { return F::mse_loss(out.squeeze(1), target); }));
  EXPECT_FALSE(column([](auto& out, auto target) { return F::mse_loss(out, target.unsqueeze(1)); }));
}

TEST(LossInput, OfASubtractionByHandIsAsManyAsItsTargets) {
  const auto column = [](const auto& loss) { return told_of(loss, "loss_input", 1); };
  const std::string from_column = "repeats [8, 1] to [8, 8], so each output is compared with targets of other samples";
  expect(column([](const Tensor& out) { return (out - torch::randn({8})).pow(2).mean(); }), LOUPE_SEVERITY_ERROR,
         from_column);
  expect(column([](const Tensor& out) {
           const Tensor distance = (torch::randn({8}) - out.sigmoid()).abs();
           return torch::where(distance < 1, 0.5 * distance * distance, distance - 0.5).mean();
         }),
         LOUPE_SEVERITY_ERROR, from_column);
  expect(column([](const Tensor& out) {
           return (out.squeeze(1) - torch::randn({8, 1})).abs().mean();
         }),
         LOUPE_SEVERITY_ERROR, "repeats [8] to [8, 8]");
  EXPECT_FALSE(column([](const Tensor& out) { return (out - torch::randn({8, 1})).pow(2).mean(); }));
  EXPECT_FALSE(column([](const Tensor& out) { return (out.squeeze(1) - torch::randn({8})).pow(2).mean(); }));
}

TEST(LossInput, MayBeRepeatedToCompareAllPairs) {
  const auto column = [](const auto& loss) { return told_of(loss, "loss_input", 1); };
  const Tensor later = torch::ones({8, 8}).triu();
  // Ranking, the partial likelihood of Cox, quantiles, and other outputs that the program itself lays out as pairs.
  EXPECT_FALSE(column([&](const Tensor& out) { return (torch::relu(1 - (out - out.t())) * later).mean(); }));
  EXPECT_FALSE(column([&](const Tensor& out) {
    return (torch::relu(out - out.squeeze(1)) * later).mean() + (out - torch::randn({8})).abs().mean();
  }));
  EXPECT_FALSE(column([&](const Tensor& out) {
    return ((out.exp().squeeze(1) * later).sum(1).log() - out.squeeze(1)).mean() - (out * later).mean();
  }));
  EXPECT_FALSE(column([](const Tensor& out) { return (out - torch::linspace(0, 1, 5)).abs().mean(); }));
  EXPECT_FALSE(
      column([](const Tensor& out) { return (out.squeeze(1).unsqueeze(1) - torch::randn({8})).abs().mean(); }));
  EXPECT_FALSE(column([](const Tensor& out) { return (out.unsqueeze(2) - torch::randn({8, 1, 8})).abs().mean(); }));
}

TEST(LossInput, CanBeComparedWithASingleNumber) {
  EXPECT_FALSE(told_of([](const Tensor& out) { return torch::mse_loss(out, torch::zeros({1})); }));
  EXPECT_FALSE(told_of([](const Tensor& out) { return torch::mse_loss(out, torch::ones({})); }));
  EXPECT_FALSE(told_of([](const Tensor& out) { return F::mse_loss(out, torch::ones({1}).expand_as(out)); }));
  expect(told_of([](const Tensor& out) {
           return F::mse_loss(out, torch::randn({8, 1}));
         }),
         LOUPE_SEVERITY_INFO, "the target is repeated");
}

TEST(LossInput, OfNllLossIsLogarithmsOfProbabilities) {
  const auto nll = [](const std::function<Tensor(const Tensor&)>& before) {
    return told_of([&](const Tensor& out) { return F::nll_loss(before(out), classes()); });
  };
  expect(nll([](auto& out) { return torch::softmax(out, 1); }), LOUPE_SEVERITY_ERROR, "add up to 1 in each sample");
  expect(nll([](auto& out) { return torch::softmax(out, 0); }), LOUPE_SEVERITY_ERROR, "a softmax over dimension 0");
  expect(nll([](auto& out) { return torch::log_softmax(out, 0); }), LOUPE_SEVERITY_ERROR,
         "a log_softmax over dimension 0");
  expect(nll([](auto& out) { return out; }), LOUPE_SEVERITY_ERROR, "logarithms of probabilities are at most 0");
  expect(nll([](auto& out) { return out - 10; }), LOUPE_SEVERITY_ERROR, "exponentials");
  EXPECT_FALSE(nll([](auto& out) { return torch::log_softmax(out, 1); }));
  EXPECT_FALSE(nll([](auto& out) { return (torch::softmax(out, 1) + 1e-8).log(); }));
}

TEST(LossInput, OfCrossEntropyIsScoresOfTwoClassesOrMore) {
  const auto entropy = [](const std::function<Tensor(const Tensor&)>& before, const std::string& rule) {
    return told_of([&](const Tensor& out) { return F::cross_entropy(before(out), classes()); }, rule);
  };
  expect(entropy([](auto& out) { return torch::sigmoid(out); }, "loss_input"), LOUPE_SEVERITY_WARNING,
         "the output of a sigmoid, but it takes unbounded scores: the loss cannot fall below 0.9");
  EXPECT_EQ(entropy([](auto& out) { return torch::sigmoid(out); }, "loss_input")->advice,
            "pass the scores before the sigmoid to cross_entropy");
  expect(entropy([](auto& out) { return torch::tanh(out); }, "loss_input"), LOUPE_SEVERITY_WARNING, "a tanh");
  expect(entropy([](auto& out) { return torch::relu(out); }, "loss_input"), LOUPE_SEVERITY_INFO, "a ReLU");
  EXPECT_TRUE(entropy([](auto& out) { return torch::softmax(out, 1); }, "double_softmax"));
  EXPECT_FALSE(entropy([](auto& out) { return torch::softmax(out, 1); }, "loss_input"));
  EXPECT_FALSE(
      told_of([](auto& out) { return out.sum() * 0 + F::cross_entropy(out.detach() * NAN, classes()).nan_to_num(); },
              "double_softmax"));
  // Scores may add up to 1 without being probabilities.
  EXPECT_FALSE(entropy([](auto& out) { return out - out.mean(1, true) + 0.2; }, "double_softmax"));
  EXPECT_FALSE(entropy([](auto& out) { return torch::log_softmax(out, 1); }, "loss_input"));
  EXPECT_FALSE(entropy([](auto& out) { return 10 * torch::tanh(out); }, "loss_input"));
  expect(told_of([](const Tensor& out) { return F::cross_entropy(out, classes(1)); }, "loss_input", 1),
         LOUPE_SEVERITY_ERROR, "one class");
}

TEST(LossInput, OfABinaryCrossEntropyWithLogitsMustNotBeASigmoid) {
  const auto told = [](const std::function<Tensor(const Tensor&)>& before) {
    return told_of([&](const Tensor& out) {
      return F::binary_cross_entropy_with_logits(before(out), torch::ones({8, 5}));
    });
  };
  expect(told([](auto& out) { return torch::sigmoid(out); }), LOUPE_SEVERITY_WARNING, "applies sigmoid itself");
  EXPECT_FALSE(told([](auto& out) { return out; }));
}

TEST(LossInput, SwappedWithTheTargetIsReported) {
  expect(told_of([](const Tensor& out) {
           return torch::mse_loss(torch::randn({8, 5}), out);
         }),
         LOUPE_SEVERITY_INFO, "swapped");
  EXPECT_FALSE(told_of([](const Tensor& out) { return torch::mse_loss(out, torch::randn({8, 5})); }));
}

}  // namespace
