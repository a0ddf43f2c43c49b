// Tests of the lens `run_statistics` on made-up models.

#include <gtest/gtest.h>
#include <loupe/testing.h>

#include <cmath>
#include <limits>
#include <string>

#include "paths.h"

namespace {

namespace lt = loupe::testing;
using lt::Bench;
using lt::tensor;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
const std::vector<std::string> plugins = {LOUPE_BUILT_PLUGINS};

Bench bench(const std::string& options = "{}") {
  return Bench("lenses: [run_statistics: " + options + "]\non_error: stop\n", plugins);
}
double norm(const Bench& bench, const std::string& line) {
  return bench.value("Gradient Norm", "", line);
}

/// Two layers, and steps with gradients from a test.
struct Net {
  explicit Net(const std::string& options = "{}") : on(bench(options)) {
    first = on.module("fc1", "Linear", {{"weight", {2, 1}}, {"bias", {2}}});
    second = on.module("fc2", "Linear", {{"weight", {1, 2}}});
    on.set(first, "weight", tensor({1, 2}, {2, 1}));
    on.set(first, "bias", tensor({1, 2}, {2}));
    on.set(second, "weight", tensor({1, 2}, {1, 2}));
    on.optimizer("SGD", 0.1);
  }
  void step(double a, double b, double c) {
    on.gradient(first, "weight", tensor({a, 0}, {2, 1}));
    on.gradient(first, "bias", tensor({0, b}, {2}));
    on.gradient(second, "weight", tensor({c, 0}, {1, 2}));
    on.step();
  }
  Bench on;
  lt::Module first, second;
};

TEST(RunStatistics, TakesTheNormOfAllGradientsTogetherStepByStep) {
  Net net;
  net.step(2, 3, 6);
  net.step(0, 0, 1);
  net.on.tick();
  EXPECT_DOUBLE_EQ(norm(net.on, "mean"), 4);  // the mean of 7 and 1
  EXPECT_DOUBLE_EQ(norm(net.on, "max"), 7);
  net.step(0, 3, 4);
  net.on.tick();
  EXPECT_DOUBLE_EQ(norm(net.on, "max"), 5) << "the epoch before is forgotten";
}

TEST(RunStatistics, LeavesAParameterWithoutGradientOutOfTheSum) {
  Net net;
  net.on.gradient(net.second, "weight", tensor({3, 4}, {1, 2}));
  net.on.step();
  net.step(0, 0, 2);
  net.on.tick();
  EXPECT_DOUBLE_EQ(norm(net.on, "max"), 5);
  EXPECT_DOUBLE_EQ(norm(net.on, "mean"), 3.5);
}

TEST(RunStatistics, ShowsANaNNormIfThereIsNoOther) {
  Net net;
  net.step(1, nan, 1);
  net.on.tick();
  EXPECT_TRUE(std::isnan(norm(net.on, "mean")));
  net.step(1, nan, 1);
  net.step(3, 0, 4);
  net.on.tick();
  EXPECT_DOUBLE_EQ(norm(net.on, "mean"), 5) << "averages leave out values that are not finite";
}

TEST(RunStatistics, CountsSamplesByTheInputOfTheModelItself) {
  Bench on = bench();
  const auto model = on.module("Net", "Sequential", {}, LOUPE_MODULE_ROOT | LOUPE_MODULE_TAPPED);
  const auto layer = on.module("fc", "Linear", {{"weight", {1, 1}}});
  for (int i = 0; i < 3; ++i) {
    on.forward(model, {tensor({1, 2, 3, 4}, {4, 1})}, {tensor({1}, {1})});
    on.forward(layer, {tensor({1, 2}, {2, 1})}, {tensor({1}, {1})});
    on.step();
  }
  on.forward(model, {tensor({1, 2}, {2, 1})}, {tensor({1}, {1})}, lt::evaluation_pass);
  on.tick();
  const double steps = on.value("Steps per Second", "", "steps");
  EXPECT_GT(steps, 0);
  EXPECT_DOUBLE_EQ(on.value("Samples per Second", "", "samples") / steps, 4);
}

TEST(RunStatistics, CountsSamplesByTheFirstLayerUnlessItRunsSeveralTimesAStep) {
  Bench on = bench("{batch_dimension: 1}");
  const auto layer = on.module("fc", "Linear", {{"weight", {1, 1}}});
  const auto train = [&](int times) {
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < times; ++j) on.forward(layer, {tensor({1, 2, 3}, {1, 3})}, {tensor({1}, {1})});
      on.step();
    }
    on.tick();
  };
  train(1);
  EXPECT_DOUBLE_EQ(on.value("Samples per Second", "", "samples") / on.value("Steps per Second", "", "steps"), 3);
  train(2);
  EXPECT_TRUE(on.has_value("Steps per Second", "", "steps"));
  EXPECT_FALSE(on.has_value("Samples per Second", "", "samples"));
}

TEST(RunStatistics, CountsASingleSampleAndNoneWithoutLayers) {
  Bench on = bench();
  const auto model = on.module("Net", "Sequential", {}, LOUPE_MODULE_ROOT | LOUPE_MODULE_TAPPED);
  on.forward(model, {tensor({1, 2}, {1, 2})}, {tensor({1}, {1})});
  for (int i = 0; i < 2; ++i) on.step();
  on.tick();
  EXPECT_DOUBLE_EQ(on.value("Samples per Second", "", "samples") / on.value("Steps per Second", "", "steps"), 0.5);

  Net net;
  for (int i = 0; i < 2; ++i) net.step(1, 1, 1);
  net.on.tick();
  EXPECT_TRUE(net.on.has_value("Steps per Second", "", "steps"));
  EXPECT_FALSE(net.on.has_value("Samples per Second", "", "samples"));
}

TEST(RunStatistics, ShowsNoSpeedForASingleStep) {
  Net net;
  net.step(1, 1, 1);
  net.on.tick();
  EXPECT_FALSE(net.on.has_value("Steps per Second", "", "steps"));
}

TEST(RunStatistics, ShowsRatesAndMemory) {
  Net net;
  net.step(1, 1, 1);
  net.on.tick();
  EXPECT_EQ(net.on.value("Learning Rate", "", "SGD"), 0.1);
  EXPECT_GT(net.on.value("Process Memory", "", "process"), 1);
  EXPECT_EQ(net.on.tag("Process Memory").unit, "MiB");
}

TEST(RunStatistics, LeavesPlotsOutByOption) {
  Net net("{learning_rate: false, gradient_norm: false, speed: false, memory: false}");
  net.step(1, 1, 1);
  net.step(1, 1, 1);
  net.on.tick();
  EXPECT_TRUE(net.on.tags().empty());
}

}  // namespace
