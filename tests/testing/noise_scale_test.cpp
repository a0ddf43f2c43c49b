// Tests of the lens `noise_scale` on gradients with known mean and variance.

#include <gtest/gtest.h>
#include <loupe/testing.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "noise_scale/estimate.h"
#include "paths.h"

namespace {

namespace lt = loupe::testing;
using lt::Bench;

constexpr std::size_t size = 64;
constexpr double mean = 0.5, deviation = 1;                                              // of each element
constexpr double passes_expected = size * deviation * deviation / (size * mean * mean);  // 4

/// Gradients of a parameter: each pass adds a random gradient with this mean and variance.
class Noise {
 public:
  void add_to(std::vector<double>& sum) {
    for (double& each : sum) each += mean + deviation * normal_(random_);
  }

 private:
  std::mt19937 random_{7};
  std::normal_distribution<double> normal_;
};

Bench bench(const std::string& options) {
  return Bench("lenses: [noise_scale: " + options + "]\non_error: stop\n", {LOUPE_BUILT_PLUGINS});
}

TEST(NoiseScale, IsTheVarianceOverTheSquaredMeanOfGradientsThatAreSummedUp) {
  Bench on = bench("{batch_size: 8}");
  const auto layer = on.module("fc", "Linear", {{"weight", {static_cast<int64_t>(size)}}});
  on.set(layer, "weight", lt::tensor(std::vector<double>(size, 1), {static_cast<int64_t>(size)}));
  on.optimizer("SGD", 0.1);
  Noise noise;
  for (int step = 0; step < 4000; ++step) {
    std::vector<double> sum(size, 0);
    for (int pass = 0; pass < 4; ++pass) {
      noise.add_to(sum);
      on.gradient(layer, "weight", lt::tensor(sum, {static_cast<int64_t>(size)}));
    }
    on.step();
  }
  on.tick();
  EXPECT_NEAR(on.value("Gradient Noise Scale", "", "samples") / (8 * passes_expected), 1, 0.05);
}

TEST(NoiseScale, ShowsNothingIfEachStepHasOneGradient) {
  Bench on = bench("{batch_size: 8}");
  const auto layer = on.module("fc", "Linear", {{"weight", {2}}});
  on.set(layer, "weight", lt::tensor({1, 1}, {2}));
  on.optimizer("SGD", 0.1);
  for (int step = 0; step < 3; ++step) {
    on.gradient(layer, "weight", lt::tensor({1, 2}, {2}));
    on.step();
  }
  on.tick();
  EXPECT_FALSE(on.has_value("Gradient Noise Scale", "", "samples"));
}

TEST(NoiseScale, IsTheSameFromPassesAndFromRanksThatAverageOrSumTheirGradients) {
  constexpr double squared_mean = size * mean * mean, variance = size * deviation * deviation, ranks = 4;
  std::vector<double> squares;
  for (double n = 1; n <= 3; ++n) squares.push_back(n * n * squared_mean + n * variance);
  const double own = squared_mean + variance, average = squared_mean + variance / ranks;
  for (const auto& estimate : {loupe::from_passes(squares), loupe::from_ranks(own, average, ranks),
                               loupe::from_ranks(own, ranks * ranks * average, ranks)}) {
    ASSERT_TRUE(estimate);
    EXPECT_NEAR(estimate->gradient, squared_mean, 1e-9);
    EXPECT_NEAR(estimate->noise, variance, 1e-9);
  }
  EXPECT_FALSE(loupe::from_passes({own}));
  EXPECT_FALSE(loupe::from_ranks(own, own, 1));
}

}  // namespace
