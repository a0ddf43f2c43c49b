#include <gtest/gtest.h>
#include <loupe/detail/series.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace loupe {
namespace {

constexpr double stated_error = 0.01;  // of the rank; promised in quantile_sketch.h and configs/README.md
constexpr double shares[] = {0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1};

/// The error of the sketch's quantile in ranks, as a share of all values. Among equal values, the best rank counts.
double rank_error(const QuantileSketch& sketch, const std::vector<double>& sorted, double share) {
  const double given = sketch.quantile(share);
  const auto [low, high] = std::equal_range(sorted.begin(), sorted.end(), given);
  const auto count = static_cast<double>(sorted.size() - 1);
  const double from = static_cast<double>(low - sorted.begin()) / count;
  const double to = static_cast<double>(high - sorted.begin()) / count;
  return std::max({0.0, from - share, share - to});
}

void expect_stated_error(const std::vector<double>& values, const std::string& which) {
  QuantileSketch sketch;
  for (const double value : values) sketch.push(value);
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  for (const double share : shares) {
    EXPECT_LT(rank_error(sketch, sorted, share), stated_error) << which << ", share " << share;
  }
}

std::vector<double> heavy_tailed(unsigned seed, std::size_t count) {
  std::mt19937_64 random(seed);
  std::cauchy_distribution<double> cauchy;
  std::vector<double> values(count);
  for (double& value : values) value = cauchy(random);
  return values;
}

TEST(QuantileSketch, StaysWithinItsStatedErrorOnAMillionHeavyTailedValues) {
  for (const unsigned seed : {1U, 2U, 3U, 4U, 5U}) {
    expect_stated_error(heavy_tailed(seed, 1'000'000), "Cauchy, seed " + std::to_string(seed));
  }
}

TEST(QuantileSketch, StaysWithinItsStatedErrorInAnyOrder) {
  std::vector<double> values = heavy_tailed(7, 200'000);
  std::sort(values.begin(), values.end());
  expect_stated_error(values, "rising");
  std::reverse(values.begin(), values.end());
  expect_stated_error(values, "falling");
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % 3);
  expect_stated_error(values, "three values over and over");
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 2 == 0 ? static_cast<double>(i) : -std::exp(i % 700);
  expect_stated_error(values, "two streams in turn");
}

TEST(QuantileSketch, IsExactForAFewHundredValues) {
  std::vector<double> values = heavy_tailed(1, 401);
  QuantileSketch sketch;
  for (const double value : values) sketch.push(value);
  std::sort(values.begin(), values.end());
  for (const std::size_t rank : {0U, 100U, 200U, 300U, 400U}) {
    EXPECT_EQ(sketch.quantile(static_cast<double>(rank) / 400), values[rank]);
  }
}

TEST(QuantileSketch, InterpolatesBetweenNeighborsAsOfAllValues) {
  QuantileSketch sketch;
  for (const double value : {4.0, 1.0, 3.0, 2.0}) sketch.push(value);
  EXPECT_DOUBLE_EQ(sketch.quantile(0.25), 1.75);
  EXPECT_DOUBLE_EQ(sketch.quantile(0.5), 2.5);
  EXPECT_DOUBLE_EQ(sketch.quantile(0.75), 3.25);
}

TEST(QuantileSketch, HasNoQuantileWithoutValuesOrAfterAClear) {
  QuantileSketch sketch;
  EXPECT_TRUE(std::isnan(sketch.quantile(0.5)));
  sketch.push(1);
  sketch.clear();
  EXPECT_TRUE(std::isnan(sketch.quantile(0.5)));
  EXPECT_EQ(sketch.count(), 0U);
}

}  // namespace
}  // namespace loupe
