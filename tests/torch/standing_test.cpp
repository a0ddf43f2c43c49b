// How long findings stay open: as long as the fault lasts.

#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace {

namespace nn = torch::nn;

struct CarefulLoop {
  CarefulLoop() : inspector(loupe::Inspector::from_text("attach: {summary: false}\nlenses: [health]\n")) {
    torch::manual_seed(5);
    model = nn::Sequential(nn::Linear(6, 8), nn::ReLU(), nn::Linear(8, 3));
  }
  torch::Tensor loss_of(const torch::Tensor& batch) {
    return nn::functional::cross_entropy(model->forward(batch), batch.slice(1, 0, 3).argmax(1));
  }
  /// Makes a step as a careful loop does: it skips a batch whose loss is not finite.
  void step(torch::optim::Optimizer& optimizer, const torch::Tensor& batch, bool clears = true) {
    if (clears) optimizer.zero_grad();
    const auto loss = loss_of(batch);
    inspector.push_loss(loss, true);
    if (!std::isfinite(loss.item<double>())) return;
    loss.backward();
    optimizer.step();
  }
  void epochs(int count, const std::function<void()>& step) {
    for (int epoch = 0; epoch < count; ++epoch) {
      for (int i = 0; i < 6; ++i) step();
      inspector.tick_epoch();
    }
  }
  std::optional<loupe::Finding> find(const std::string& rule, const std::string& parameter = "") const {
    const auto all = inspector.findings();
    const auto found = std::find_if(all.begin(), all.end(), [&](const loupe::Finding& each) {
      return each.rule == rule && (parameter.empty() || each.parameter == parameter);
    });
    return found != all.end() ? std::optional(*found) : std::nullopt;
  }
  bool stands(const std::string& rule, const std::string& parameter = "") const {
    const auto found = find(rule, parameter);
    return found && found->state != LOUPE_FINDING_GONE;
  }

  loupe::Inspector inspector;
  nn::Sequential model{nullptr};
};

torch::Tensor some_batch() {
  return torch::randn({16, 6});
}
torch::Tensor bad_batch() {
  return torch::full({16, 6}, NAN);
}

/// A loop that trains its whole model.
struct WholeLoop : CarefulLoop {
  WholeLoop() { inspector.attach(*model, optimizer); }
  void train(int count) {
    epochs(count, [&] { step(optimizer, some_batch()); });
  }
  void take_bad_batch() { step(optimizer, bad_batch()); }
  loupe::Finding non_finite() const {
    const auto found = find("non_finite");
    EXPECT_TRUE(found);
    return found.value_or(loupe::Finding());
  }
  torch::optim::SGD optimizer{model->parameters(), 0.05};
};

constexpr int epochs_until_over = 8;  // a finding that no epoch repeats is resolved after these

TEST(FindingsThatStand, AboutAParameterWithoutOptimizerLastUntilOneHoldsIt) {
  CarefulLoop it;
  torch::optim::SGD optimizer(it.model[0]->as<nn::Linear>()->parameters(), 0.05);
  it.inspector.attach(*it.model, optimizer);
  it.epochs(epochs_until_over, [&] { it.step(optimizer, some_batch()); });
  EXPECT_TRUE(it.stands("unchanged_parameter", "weight"));
  optimizer.add_param_group(torch::optim::OptimizerParamGroup(it.model[2]->as<nn::Linear>()->parameters()));
  it.epochs(epochs_until_over, [&] { it.step(optimizer, some_batch()); });
  ASSERT_TRUE(it.find("unchanged_parameter", "weight"));
  EXPECT_FALSE(it.stands("unchanged_parameter", "weight"));
}

TEST(FindingsThatStand, AboutEqualUnitsLastWhileTheUnitsAreEqual) {
  CarefulLoop it;
  const auto fill = [&](const std::function<void(torch::Tensor&)>& with) {
    const torch::NoGradGuard guard;
    for (auto& each : it.model->parameters()) with(each);
  };
  fill([](torch::Tensor& each) { each.fill_(0.01); });
  torch::optim::SGD optimizer(it.model->parameters(), 0.01);
  it.inspector.attach(*it.model, optimizer);
  it.epochs(epochs_until_over, [&] { it.step(optimizer, some_batch()); });
  EXPECT_TRUE(it.stands("poor_initialization"));
  fill([](torch::Tensor& each) { each.normal_(); });
  it.epochs(epochs_until_over, [&] { it.step(optimizer, some_batch()); });
  EXPECT_FALSE(it.stands("poor_initialization"));
}

TEST(FindingsThatStand, AboutALossThatIsNotFiniteLastToTheEnd) {
  WholeLoop it;
  it.train(2);
  it.epochs(epochs_until_over, [&] { it.take_bad_batch(); });
  EXPECT_TRUE(it.stands("non_finite"));
}

TEST(FindingsThatStand, AreNotResolvedWhileNaNHidesTheirFault) {
  CarefulLoop it;
  torch::optim::SGD optimizer(it.model[0]->as<nn::Linear>()->parameters(), 0.05);
  it.inspector.attach(*it.model, optimizer);
  it.epochs(2, [&] { it.step(optimizer, some_batch()); });
  ASSERT_TRUE(it.stands("unchanged_parameter", "weight"));
  it.epochs(epochs_until_over, [&] {
    optimizer.zero_grad();
    it.loss_of(bad_batch()).backward();
    optimizer.step();
  });
  EXPECT_TRUE(it.stands("unchanged_parameter", "weight"));
}

TEST(FindingsAfterNaN, ComeAsBeforeOnceAllValuesAreFiniteAgain) {
  WholeLoop it;
  it.train(2);
  it.take_bad_batch();
  it.train(epochs_until_over);
  EXPECT_FALSE(it.stands("non_finite"));
  it.epochs(1, [&] { it.step(it.optimizer, some_batch(), /*clears=*/false); });
  EXPECT_TRUE(it.stands("gradients_not_cleared"));
}

TEST(FindingsAfterNaN, ReportASecondNaNAsANewFinding) {
  WholeLoop it;
  it.train(2);
  it.take_bad_batch();
  it.train(epochs_until_over);
  it.take_bad_batch();
  it.train(1);
  ASSERT_TRUE(it.stands("non_finite"));
  EXPECT_NE(it.non_finite().message.find("appeared again"), std::string::npos) << it.non_finite().message;
}

TEST(FindingsAfterNaN, DescribeASkippedNaNAsHarmless) {
  WholeLoop it;
  it.train(1);
  it.loss_of(bad_batch());
  it.train(1);
  EXPECT_EQ(it.non_finite().severity, LOUPE_SEVERITY_INFO);
  EXPECT_EQ(it.non_finite().message.rfind("a harmless NaN", 0), 0U) << it.non_finite().message;
  EXPECT_NE(it.non_finite().message.find("the batch itself"), std::string::npos);
  it.take_bad_batch();
  it.train(1);
  EXPECT_EQ(it.non_finite().severity, LOUPE_SEVERITY_ERROR);
  EXPECT_NE(it.non_finite().message.find("contains the first NaN or Inf"), std::string::npos)
      << it.non_finite().message;
}

TEST(FindingsOfAStep, NameZeroGradBetweenBackwardAndStep) {
  for (const bool removes : {false, true}) {  // LibTorch 2 removes gradients
    WholeLoop it;
    it.epochs(1, [&] {
      it.loss_of(some_batch()).backward();
      for (auto& each : it.model->parameters())
        removes ? each.mutable_grad().reset() : void(each.mutable_grad().zero_());
      it.optimizer.step();
    });
    ASSERT_TRUE(it.find("no_effect")) << removes;
    EXPECT_NE(it.find("no_effect")->advice.find("between backward() and step()"), std::string::npos)
        << it.find("no_effect")->advice;
    EXPECT_FALSE(it.find("nothing_trainable")) << removes;
  }
}

TEST(FindingsOfAStep, NameAStepBeforeBackward) {
  WholeLoop it;
  it.epochs(2, [&] {
    it.optimizer.zero_grad();
    const auto loss = it.loss_of(some_batch());
    it.optimizer.step();
    loss.backward();
  });
  EXPECT_TRUE(it.find("no_effect"));
  EXPECT_FALSE(it.find("nothing_trainable")) << it.find("nothing_trainable")->message;
}

/// An optimizer that removes the gradients that it has used.
struct TidySgd : torch::optim::SGD {
  using SGD::SGD;
  torch::Tensor step(LossClosure closure = nullptr) override {
    const auto loss = SGD::step(std::move(closure));
    for (auto& group : param_groups()) {
      for (auto& each : group.params()) each.mutable_grad().reset();
    }
    return loss;
  }
};

TEST(FindingsOfAStep, AllowAnOptimizerThatRemovesTheGradientsThatItUsed) {
  CarefulLoop it;
  TidySgd optimizer(it.model->parameters(), 0.05);
  it.inspector.attach(*it.model, optimizer);
  it.epochs(2, [&] { it.step(optimizer, some_batch(), /*clears=*/false); });
  EXPECT_FALSE(it.find("no_effect")) << it.find("no_effect")->message;
  EXPECT_FALSE(it.find("nothing_trainable")) << it.find("nothing_trainable")->message;
}

TEST(FindingsOfAStep, NameAStepThatUsesItsGradientsAgain) {
  for (const bool twice : {false, true}) {
    WholeLoop it;
    it.epochs(3, [&] {
      it.step(it.optimizer, some_batch());
      if (twice) it.optimizer.step();
    });
    const auto found = it.find("gradients_not_cleared");
    ASSERT_EQ(found.has_value(), twice);
    if (found) {
      EXPECT_NE(found->message.find("used the same gradients"), std::string::npos) << found->message;
    }
  }
}

TEST(FindingsOfAStep, AllowTwoOptimizersOfOneModel) {
  CarefulLoop it;
  torch::optim::SGD first(it.model[0]->as<nn::Linear>()->parameters(), 0.05);
  torch::optim::SGD second(it.model[2]->as<nn::Linear>()->parameters(), 0.05);
  it.inspector.attach(*it.model, {first, second});
  it.epochs(3, [&] {
    second.zero_grad();
    it.step(first, some_batch());
    second.step();
  });
  EXPECT_FALSE(it.find("gradients_not_cleared")) << it.find("gradients_not_cleared")->message;
  EXPECT_FALSE(it.find("nothing_trainable")) << it.find("nothing_trainable")->message;
}

TEST(FindingsOfAStep, NameAModelWhoseLossHasAFactorOfZero) {
  for (const double factor : {0.0, 0.5}) {
    WholeLoop it;
    nn::Linear other(6, 1);
    it.inspector.attach(*other, it.optimizer, "other");
    it.optimizer.add_param_group(torch::optim::OptimizerParamGroup(other->parameters()));
    it.epochs(8, [&] {
      it.optimizer.zero_grad();
      const auto batch = some_batch();
      (it.loss_of(batch) + factor * other(batch).pow(2).mean()).backward();
      it.optimizer.step();
    });
    const auto found = it.find("unchanged_parameter");
    ASSERT_EQ(found.has_value(), factor == 0) << factor;
    if (found) {
      EXPECT_NE(found->message.find("all gradients of 'other' were exactly 0"), std::string::npos) << found->message;
    }
  }
}

TEST(FindingsOfAStep, NameTargetsThatATanhCannotReach) {
  for (const double scale : {3.0, 0.5}) {
    CarefulLoop it;
    nn::Sequential bounded(nn::Linear(6, 1), nn::Tanh());
    torch::optim::SGD optimizer(bounded->parameters(), 0.05);
    it.inspector.attach(*bounded, optimizer);
    it.epochs(20, [&] {
      optimizer.zero_grad();
      const auto x = torch::randn({32, 6});
      nn::functional::mse_loss(bounded->forward(x), scale * x.slice(1, 0, 1)).backward();
      optimizer.step();
    });
    const auto found = it.find("target_range");
    ASSERT_EQ(found.has_value(), scale > 1) << scale;
    if (found) {
      EXPECT_NE(found->message.find("the output of a tanh, from -1 to 1"), std::string::npos) << found->message;
    }
  }
}

TEST(FindingsOfAStep, LetOneStepSolveALinearModel) {
  CarefulLoop it;
  nn::Sequential linear(nn::Linear(6, 1));
  torch::optim::SGD optimizer(linear->parameters(), 0.4);
  it.inspector.attach(*linear, optimizer);
  it.epochs(6, [&] {
    optimizer.zero_grad();
    const auto x = torch::randn({256, 6});
    const auto loss = (linear->forward(x) - 30 * x.sum(1, true)).pow(2).mean();
    it.inspector.push_loss(loss, true);
    loss.backward();
    optimizer.step();
  });
  EXPECT_FALSE(it.find("update_ratio")) << it.find("update_ratio")->message;
}

/// Pushes the losses of one epoch, without a model.
void push_epoch(loupe::Inspector& inspector, int count, const std::function<double(int)>& loss) {
  for (int i = 0; i < count; ++i) inspector.push_loss(loss(i), true);
  inspector.tick_epoch();
}

TEST(FindingsOfLosses, HandleLossesThatCrossZero) {
  CarefulLoop below, around;
  push_epoch(below.inspector, 60, [](int i) { return i == 20 ? 2.8 : i == 45 ? 0.9 : -1 + 0.01 * (i % 7); });
  EXPECT_FALSE(below.find("loss_spike"));
  push_epoch(around.inspector, 60, [](int i) { return i % 12 < 6 ? 0.1 : -0.096; });
  EXPECT_FALSE(around.find("loss_spike"));
}

TEST(FindingsOfLosses, DistinguishASpikeFromTheJumpsOfSingleSamples) {
  const auto falls_to = [](int i, double then) { return i < 10 ? 1.5 : then * (1 + i % 7); };
  CarefulLoop even, jumps_often, jumps_seldom;
  push_epoch(even.inspector, 120, [&](int i) { return i == 119 ? 1.0 : falls_to(i, 0.01); });
  EXPECT_TRUE(even.find("loss_spike"));
  push_epoch(jumps_often.inspector, 120, [&](int i) { return i == 119 ? 8.0 : i % 17 == 0 ? 0.9 : falls_to(i, 0.01); });
  EXPECT_FALSE(jumps_often.find("loss_spike"));
  push_epoch(jumps_seldom.inspector, 120, [&](int i) {
    return i == 119 ? 1.0 : i % 40 == 15 ? 0.9 : falls_to(i, 0.01);
  });
  EXPECT_FALSE(jumps_seldom.find("loss_spike"));
}

TEST(FindingsOfLosses, AreUpdatedWithNewFiguresIfLossesGrowFarWorse) {
  CarefulLoop it;
  torch::optim::SGD optimizer(it.model->parameters(), 1e-3);
  it.inspector.attach(*it.model, optimizer);
  const auto epoch = [&](double loss) {
    for (int i = 0; i < 6; ++i) {
      optimizer.zero_grad();
      it.loss_of(some_batch()).backward();
      optimizer.step();
      it.inspector.push_loss(loss, true);
    }
    it.inspector.tick_epoch();
  };
  for (const double loss : {1, 1, 1, 3, 3}) epoch(loss);
  ASSERT_TRUE(it.find("diverging_loss"));
  EXPECT_EQ(it.find("diverging_loss")->value, 3);
  epoch(200);
  EXPECT_EQ(it.find("diverging_loss")->value, 200);
  EXPECT_NE(it.find("diverging_loss")->message.find("200 in epoch 6"), std::string::npos)
      << it.find("diverging_loss")->message;
}

}  // namespace
