#include "health/rules/loss_curve.h"

#include <gtest/gtest.h>

#include <vector>

namespace loupe::health {
namespace {

TEST(LossCurve, KeepsTheMeanOfEachPairOnceItIsFull) {
  LossCurve curve;
  for (int i = 0; i < 128; ++i) curve.add(i * i);
  ASSERT_EQ(curve.values().size(), 128U);
  EXPECT_EQ(curve.values()[0], 0);
  EXPECT_EQ(curve.values()[127], 127 * 127);
  curve.add(128 * 128);
  ASSERT_EQ(curve.values().size(), 64U);
  for (int i = 0; i < 64; ++i) {
    const int first = 2 * i, second = 2 * i + 1;
    EXPECT_EQ(curve.values()[static_cast<std::size_t>(i)], (first * first + second * second) / 2.0) << i;
  }
  curve.add(129 * 129);
  ASSERT_EQ(curve.values().size(), 65U) << "a value now stands for two losses";
  EXPECT_EQ(curve.values()[64], (128 * 128 + 129 * 129) / 2.0);
}

TEST(LossCurve, CountsTheTurnsOfASwingButNotOutliers) {
  std::vector<double> curve;
  for (int i = 0; i < 64; ++i) curve.push_back((i / 16) % 2 == 0 ? 1 : 2);
  EXPECT_EQ(count_turns(curve, 3), 2U);
  std::vector<double> flat(64, 1.0);
  flat[20] = 100;
  EXPECT_EQ(count_turns(flat, 3), 0U);
  EXPECT_EQ(count_turns(std::vector<double>(curve.begin(), curve.begin() + 31), 3), 0U) << "too few to say";
}

}  // namespace
}  // namespace loupe::health
