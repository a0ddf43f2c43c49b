// Tests which findings the lens `health` reports of silent or constant layers, and with which severity.

#include <gtest/gtest.h>
#include <loupe/testing.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "paths.h"

namespace {

namespace lt = loupe::testing;
using lt::Bench;
using lt::tensor;
using Values = std::vector<double>;

constexpr int64_t batch = 16, width = 4;

/// Numbers between -1 and 1 that look random and are always the same for a seed.
Values noises(int64_t count, int64_t seed) {
  Values values;
  auto bits = static_cast<uint64_t>(seed + 1) * 0x9e3779b97f4a7c15;
  for (int64_t i = 0; i < count; ++i) {
    bits = bits * 6364136223846793005 + 1442695040888963407;
    values.push_back(static_cast<double>(bits >> 11) / static_cast<double>(uint64_t{1} << 52) - 1);
  }
  return values;
}

/// A linear layer, an activation and another linear layer, trained in epochs of 8 steps.
class Layers {
 public:
  /// @param zero_steps  the last weight is all zeros before this step
  explicit Layers(const std::string& activation, bool has_one_output = false, int64_t zero_steps = 0)
      : bench_("lenses: [health: {off: [loss_not_decreasing, linear_chain, same_order]}]\n", {LOUPE_BUILT_PLUGINS}) {
    bench_.module("Net", "Net", {}, LOUPE_MODULE_ROOT);
    weighted_.push_back(bench_.module("fc1", "Linear", {{"weight", {width, width}}}));
    activation_ = bench_.module("act", activation);
    if (!has_one_output) weighted_.push_back(bench_.module("fc2", "Linear", {{"weight", {width, width}}}));
    zero_steps_ = zero_steps;
    for (std::size_t i = 0; i < weighted_.size(); ++i) set(i);
    bench_.optimizer("SGD", 0.1);
  }

  struct Step {
    std::function<Values(int64_t step)> output = nullptr;  ///< output of the activation
    std::vector<int64_t> shape;
    double loss = 1;
    bool reaches_first = true;  ///< the first layer gets a gradient other than 0
  };
  void epoch(const Step& how) {
    for (int i = 0; i < 8; ++i) step(how);
    bench_.tick();
  }
  void step(const Step& how) {
    ++number_;
    const lt::Tensor in = tensor(noises(batch * width, number_), {batch, width});
    const lt::Tensor between = tensor(noises(batch * width, 500 + number_), {batch, width});
    const lt::Tensor out = tensor(how.output(number_), how.shape);
    bench_.forward(weighted_[0], std::vector{in}, std::vector{between});
    bench_.forward(activation_, std::vector{between}, std::vector{out});
    if (weighted_.size() > 1) bench_.forward(weighted_[1], std::vector{out}, std::vector{between});
    for (std::size_t i = weighted_.size(); i-- > 0;) {
      Values gradient = noises(width * width, 1000 + number_);
      if (i == 0 && !how.reaches_first) gradient.assign(gradient.size(), 0.0);
      bench_.gradient(weighted_[i], "weight", tensor(gradient, {width, width}));
      set(i);
    }
    bench_.push_loss(how.loss);
    bench_.step();
  }

  /// The last report of a rule's finding.
  const lt::Finding* last(const std::string& rule) {
    told_ = bench_.findings();
    const lt::Finding* last = nullptr;
    for (const lt::Finding& each : told_) last = each.rule == rule ? &each : last;
    return last;
  }
  uint32_t severity(const std::string& rule) {
    const lt::Finding* found = last(rule);
    return found != nullptr ? found->severity : 0;
  }

 private:
  /// Sets a weight to its value at the current step.
  void set(std::size_t layer) {
    Values weight = noises(width * width, 7);
    for (double& each : weight) each += 1e-3 * static_cast<double>(number_);
    if (layer + 1 == weighted_.size() && number_ < zero_steps_) weight.assign(weight.size(), 0.0);
    bench_.set(weighted_[layer], "weight", tensor(weight, {width, width}));
  }

  Bench bench_;
  std::vector<lt::Module> weighted_;
  lt::Module activation_;
  std::vector<lt::Finding> told_;
  int64_t number_ = 0, zero_steps_ = 0;
};

/// An output whose first `silent` of `units` units are 0.
Layers::Step partly_silent(int64_t units, int64_t silent) {
  Layers::Step step;
  step.shape = {batch, units};
  step.output = [units, silent](int64_t) {
    Values out(static_cast<std::size_t>(batch * units), 1.0);
    for (std::size_t place = 0; place < out.size(); ++place) {
      if (static_cast<int64_t>(place) % units < silent) out[place] = 0;
    }
    return out;
  };
  return step;
}

TEST(DeadUnits, AreNotReportedWhileTheLossIsAtItsBest) {
  Layers net("ReLU");
  Layers::Step step = partly_silent(16, 10);
  for (int i = 0; i < 5; ++i, step.loss *= 0.7) net.epoch(step);
  EXPECT_EQ(net.last("dead_units"), nullptr);
}

TEST(DeadUnits, AreNotReportedIfTheyAreFewThoughTheLossStays) {
  Layers net("ReLU");
  for (int i = 0; i < 6; ++i) net.epoch(partly_silent(16, 6));
  EXPECT_EQ(net.last("dead_units"), nullptr);
}

TEST(DeadUnits, AreAnErrorWhileTheLossStays) {
  Layers net("ReLU");
  Layers::Step step = partly_silent(16, 10);
  for (int i = 0; i < 6; ++i) net.epoch(step);
  ASSERT_EQ(net.severity("dead_units"), uint32_t{LOUPE_SEVERITY_ERROR});
  EXPECT_NE(net.last("dead_units")->message.find("the loss does not improve"), std::string::npos);
  for (int i = 0; i < 4; ++i) {
    step.loss *= 0.5;
    net.epoch(step);
  }
  EXPECT_EQ(net.severity("dead_units"), uint32_t{LOUPE_SEVERITY_INFO});
}

TEST(DeadUnits, AreAlwaysAnErrorInALayerThatCutsOffAllEarlierOnes) {
  for (const bool reaches_first : {false, true}) {
    Layers net("ReLU");
    Layers::Step step = partly_silent(16, 16);
    step.reaches_first = reaches_first;
    for (int i = 0; i < 5; ++i, step.loss *= 0.7) net.epoch(step);
    EXPECT_EQ(net.severity("dead_units"), reaches_first ? 0 : uint32_t{LOUPE_SEVERITY_ERROR});
    if (reaches_first) continue;
    EXPECT_EQ(net.severity("unchanged_parameter"), uint32_t{LOUPE_SEVERITY_INFO}) << "another finding explains it";
    EXPECT_EQ(net.last("unchanged_parameter")->advice, "fix 'dead_units' in 'act' first, which may be the cause");
  }
}

TEST(UnchangedParameter, IsNotReportedForLayersBeforeAWeightThatIsAllZeros) {
  const auto told_after = [](int64_t zero_steps, int64_t steps) {
    Layers net("Tanh", /*has_one_output=*/false, zero_steps);
    Layers::Step step;
    step.shape = {batch, width};
    step.output = [](int64_t number) { return noises(batch * width, 900 + number); };
    for (int64_t i = 0; i < steps; ++i) {
      step.reaches_first = zero_steps > 0 && i >= zero_steps && zero_steps < steps;
      net.step(step);
    }
    return net.last("unchanged_parameter") != nullptr;
  };
  EXPECT_TRUE(told_after(0, 2)) << "nothing explains it";
  EXPECT_FALSE(told_after(4, 8)) << "a gate and a warm-up may explain it";
  EXPECT_FALSE(told_after(20, 20)) << "the layer may still start to move";
  EXPECT_TRUE(told_after(100, 100)) << "the layer never moves; steady layers are measured seldom, so this takes long";
}

TEST(DeadUnits, AreJudgedForFewUnitsAndForOutputsWithoutADimensionOfUnits) {
  Layers few("ReLU");
  for (int i = 0; i < 6; ++i) few.epoch(partly_silent(2, 1));
  EXPECT_EQ(few.severity("dead_units"), uint32_t{LOUPE_SEVERITY_ERROR});

  Layers one("ReLU", /*has_one_output=*/true);
  Layers::Step step;
  step.shape = {batch};
  step.reaches_first = false;
  step.output = [](int64_t) { return Values(batch, 0.0); };
  for (int i = 0; i < 4; ++i) one.epoch(step);
  ASSERT_EQ(one.severity("dead_units"), uint32_t{LOUPE_SEVERITY_ERROR});
  EXPECT_NE(one.last("dead_units")->message.find("1 of 1 units"), std::string::npos);
}

TEST(DeadUnits, AreBlamedOnTheInitializationOnlyIfSeenInTheFirstStep) {
  for (const bool from_the_first : {true, false}) {
    Layers net("ReLU");
    if (!from_the_first) net.step(partly_silent(16, 0));
    for (int i = 0; i < 5; ++i) net.epoch(partly_silent(16, 16));
    ASSERT_EQ(net.severity("dead_units"), uint32_t{LOUPE_SEVERITY_ERROR});
    const bool is_said = net.last("dead_units")->advice.find("since the first step") != std::string::npos;
    EXPECT_EQ(is_said, from_the_first);
  }
}

TEST(Softmax, OverOneElementIsReportedImmediatelyAndExplainsTheZeroGradient) {
  for (const char* type : {"Softmax", "LogSoftmax"}) {
    Layers net(type);
    Layers::Step step;
    step.shape = {batch, 1};
    step.reaches_first = false;
    step.output = [&](int64_t) { return Values(batch, type[0] == 'L' ? 0.0 : 1.0); };
    for (int i = 0; i < 3; ++i) net.step(step);
    ASSERT_EQ(net.severity("constant_output"), uint32_t{LOUPE_SEVERITY_WARNING}) << type;
    EXPECT_NE(net.last("constant_output")->message.find("a softmax over one element"), std::string::npos);
    EXPECT_EQ(net.severity("unchanged_parameter"), uint32_t{LOUPE_SEVERITY_INFO}) << type;
  }
}

TEST(Softmax, OfSeveralElementsIsNeverAConstant) {
  Layers net("Softmax");
  Layers::Step step;
  step.shape = {batch, 2};
  step.output = [](int64_t) {
    Values out(2 * batch, 0.0);
    for (std::size_t row = 0; row < batch; ++row) out[2 * row + row % 2] = 1;
    return out;
  };
  for (int i = 0; i < 3; ++i) net.epoch(step);
  EXPECT_EQ(net.severity("constant_output"), 0U);
}

/// An output whose units have means from 1 up, and a deviation of `share` from sample to sample.
Layers::Step spread_by(double share) {
  Layers::Step step;
  step.shape = {batch, width};
  step.output = [share](int64_t number) {
    Values out = noises(batch * width, 300 + number);
    for (std::size_t place = 0; place < out.size(); ++place) {
      // The mean of one unit is 0, so a share of its size means nothing.
      const double size = place % width == 0 ? 0 : static_cast<double>(1 + place % width);
      out[place] = size + share * out[place];
    }
    return out;
  };
  return step;
}

TEST(ConstantOutput, HasAlmostNoSpreadComparedWithItsSize) {
  Layers net("GELU");
  for (int i = 0; i < 3; ++i) net.epoch(spread_by(1e-5));
  ASSERT_EQ(net.severity("constant_output"), uint32_t{LOUPE_SEVERITY_WARNING});
  EXPECT_NE(net.last("constant_output")->message.find("of its size, for any input"), std::string::npos);
  Layers other("GELU");
  for (int i = 0; i < 3; ++i) other.epoch(spread_by(1e-3));
  EXPECT_EQ(other.severity("constant_output"), 0U);
}

}  // namespace
