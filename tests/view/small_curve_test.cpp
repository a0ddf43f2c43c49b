// A run's loss as a curve of the size of a word, however long the run is.

#include "record/run_summary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace loupe::test {
namespace {

using replay::SmallCurve;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(SmallCurve, KeepsEachValueWhileThereAreFew) {
  SmallCurve curve;
  EXPECT_TRUE(curve.values().empty());
  for (const double value : {3.0, 1.0, 2.0}) curve.take(value * 0 + static_cast<double>(curve.values().size()), value);
  EXPECT_EQ(curve.values(), (std::vector<double>{3, 1, 2}));
}

TEST(SmallCurve, KeepsPeaksWhatIsNotFiniteAndTheLatestHoweverLongTheRunIs) {
  constexpr int epochs = 100003;
  SmallCurve curve;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    curve.take(epoch, epoch == 5000 ? 1e6 : epoch == 70000 ? nan : epoch == epochs - 1 ? 0.125 : 1.0);
  }
  const std::vector<double> values = curve.values();
  EXPECT_GE(values.size(), SmallCurve::most_points / 2);
  EXPECT_LE(values.size(), SmallCurve::most_points + 1);
  EXPECT_EQ(std::count(values.begin(), values.end(), 1e6), 1);
  EXPECT_EQ(std::count_if(values.begin(), values.end(), [](double value) { return std::isnan(value); }), 1);
  EXPECT_EQ(values.back(), 0.125);
}

TEST(SmallCurve, ReplacesEpochsThatARunTrainsAgain) {
  SmallCurve curve;
  for (int epoch = 1; epoch <= 5; ++epoch) curve.take(epoch, epoch);
  curve.take(3, 30);
  curve.take(4, 40);
  EXPECT_EQ(curve.values(), (std::vector<double>{1, 2, 30, 40}));
}

}  // namespace
}  // namespace loupe::test
