// In which elements the first NaN is, and which function of autograd's graph made it.

#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <torch/torch.h>

#include <cmath>
#include <functional>
#include <string>
#include <tuple>

namespace {

namespace nn = torch::nn;
using torch::Tensor;

struct OriginNetImpl : nn::Module {
  OriginNetImpl() {
    words = register_module("words", nn::Embedding(20, 8));
    attention = register_module("attention", nn::MultiheadAttention(nn::MultiheadAttentionOptions(8, 2)));
    first = register_module("first", nn::Linear(8, 16));
    softmax = register_module("softmax", nn::Softmax(1));
    last = register_module("last", nn::Linear(16, 3));
  }
  Tensor forward(const Tensor& batch) {
    Tensor x = batch.is_floating_point() ? batch : words(batch);
    if (padding.defined()) {
      const Tensor sequence = x.unsqueeze(0).repeat({5, 1, 1});
      x = std::get<0>(attention(sequence, sequence, sequence, padding)).mean(0);
    }
    x = first(x);
    if (between) x = between(x);
    if (scores.defined()) x = softmax(x.masked_fill(scores, -INFINITY));
    return last(x);
  }
  nn::Embedding words{nullptr};
  nn::MultiheadAttention attention{nullptr};
  nn::Linear first{nullptr}, last{nullptr};
  nn::Softmax softmax{nullptr};
  std::function<Tensor(const Tensor&)> between;
  Tensor padding, scores;  ///< masks
};
TORCH_MODULE(OriginNet);

class OriginOfANaN : public testing::Test {
 protected:
  using Loss = std::function<Tensor(const Tensor& output)>;
  OriginOfANaN() {
    torch::manual_seed(3);
    inspector.attach(*net, optimizer);
  }
  void step(
      const Tensor& batch, const Loss& loss = [](const Tensor& output) { return output.square().mean(); }) {
    optimizer.zero_grad();
    const Tensor made = loss(net(batch));
    if (pushes_first) inspector.push_loss(made, true);
    made.backward();
    if (!pushes_first) inspector.push_loss(made, true);
    optimizer.step();
  }
  /// Makes a step with this batch and loss, then a healthy step, and returns the finding.
  loupe::Finding told(const Tensor& batch, const Loss& loss) {
    step(batch, loss);
    step(torch::randn({16, 8}));
    for (const loupe::Finding& each : inspector.findings()) {
      if (each.rule == "non_finite") return each;
    }
    ADD_FAILURE() << "no NaN was reported";
    return {};
  }
  loupe::Finding told(const Tensor& batch) {
    return told(batch, [](const Tensor& output) { return output.square().mean(); });
  }
  static Tensor batch() { return torch::randn({16, 8}); }

  loupe::Inspector inspector = loupe::Inspector::from_text("attach: {summary: false}\nlenses: [health]\n");
  OriginNet net;
  torch::optim::SGD optimizer{net->parameters(), 0.01};
  bool pushes_first = true;
};

#define EXPECT_SAYS(FINDING, TEXT) EXPECT_NE((FINDING).message.find(TEXT), std::string::npos) << (FINDING).message

TEST_F(OriginOfANaN, IsTheRowsAndTheColumnOfABatch) {
  Tensor bad = batch();
  bad[3][5] = bad[9][5] = NAN;
  EXPECT_SAYS(told(bad), "is not finite, in column 5 of 8, in rows 3 and 9 of 16 (from 0)");
}

TEST_F(OriginOfANaN, IsInTheRowOfAnEmbeddingTable) {
  step(torch::randint(20, {16}, torch::kLong));
  {
    const torch::NoGradGuard guard;
    net->words->weight[7].fill_(NAN);
  }
  EXPECT_SAYS(told(torch::full({16}, 7, torch::kLong)),
              "contains the first NaN or Inf of this run, in row 7 of 20 (from 0)");
}

TEST_F(OriginOfANaN, IsARowThatIsFullyMaskedBeforeASoftmax) {
  net->scores = torch::zeros({16, 16}, torch::kBool);
  net->scores[2][1] = true;
  step(batch());
  EXPECT_TRUE(inspector.findings().empty());
  net->scores[5].fill_(true);
  EXPECT_SAYS(
      told(batch()),
      "'softmax' made the first NaN or Inf of this run: among 16 rows of its softmax, 1 is fully masked, all 16");
}

TEST_F(OriginOfANaN, IsAPaddingMaskThatLeavesNoKey) {
  net->padding = torch::zeros({16, 5}, torch::kBool);
  step(batch());
  net->padding[4].fill_(true);
  const loupe::Finding found = told(batch());
  EXPECT_EQ(found.layer, "attention");
  EXPECT_SAYS(found, "among 16 rows of its softmax, 1 is fully masked, all 5 elements");
}

TEST_F(OriginOfANaN, IsTheLogarithmOf0InTheLoss) {
  const loupe::Finding found = told(batch(), [](const Tensor& output) {
    Tensor p = output.softmax(1) + 1;
    return -torch::log(torch::cat({p.slice(0, 0, 3), p.slice(0, 3, 4) * 0, p.slice(0, 4)})).mean();
  });
  EXPECT_SAYS(found, "LogBackward0 takes the logarithm of 0 in 3 of 48 elements, in row 3 of 16 (from 0)");
  EXPECT_NE(found.advice.find("log_softmax"), std::string::npos) << found.advice;
}

TEST_F(OriginOfANaN, HasOnlyANameOnceBackwardHasFreedTheValues) {
  pushes_first = false;
  EXPECT_SAYS(told(batch(), [](const Tensor& output) { return torch::log(output * 0).mean(); }),
              "LogBackward0 may have made it");
}

TEST_F(OriginOfANaN, IsATargetOfALossFunction) {
  Tensor target = torch::zeros({16, 3});
  target[3][1] = NAN;
  EXPECT_SAYS(told(batch(), [&](const Tensor& output) { return torch::mse_loss(output, target); }),
              "MseLossBackward0 is given a second operand that needs no gradient and holds NaN or Inf in 1 of 48 "
              "elements, in row 3 of 16 (from 0)");
}

TEST_F(OriginOfANaN, IsTheMeanOfAnEmptyBatch) {
  EXPECT_SAYS(told(torch::randn({0, 8})), "MeanBackward0 takes the mean of no elements");
}

TEST_F(OriginOfANaN, IsTheDeviationOfOneRowBetweenTwoLayers) {
  net->between = [](const Tensor& x) { return (x - x.mean(0)) / x.std(0); };
  step(batch());
  EXPECT_SAYS(told(torch::randn({1, 8})), "StdBackward0 takes the deviation of a single element each");
}

TEST_F(OriginOfANaN, IsARootWithoutASlopeBehindAFiniteLoss) {
  const loupe::Finding found =
      told(batch(), [](const Tensor& output) { return (output - output.detach()).square().sum(1).sqrt().mean(); });
  EXPECT_SAYS(found, "between it and the loss is SqrtBackward0, whose slope at 0 is infinite");
}

}  // namespace
