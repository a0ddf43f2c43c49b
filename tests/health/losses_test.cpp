// Losses of several names, as a program with several models has them.

#include "health/rules/losses.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "health/judged.h"

namespace loupe::health {
namespace {

void push(Losses& losses, const char* name, double value) {
  loupe_event event{};
  event.struct_size = sizeof event;
  event.tap = LOUPE_TAP_PUSH;
  event.flags = LOUPE_EVENT_LOSS | LOUPE_EVENT_TRAINING;
  event.label = name;
  event.scalar = value;
  losses.process(Event(&event));
}

TEST(Losses, KeepTheEpochsOfEachNameApart) {
  Losses losses;
  for (int i = 0; i < 3; ++i) {
    push(losses, "critic loss", 1);
    push(losses, "generator loss", 5);
  }
  losses.end_epoch();
  ASSERT_EQ(losses.trainings.size(), 2u);
  EXPECT_EQ(losses.training.epochs.back().mean, 1);
  EXPECT_EQ(losses.trainings.back().side.epochs.back().mean, 5);
}

TEST(Losses, KeepNoMeanOfAnEpochInWhichOneWasNaN) {
  Losses losses;
  push(losses, "train_loss", 1);
  losses.end_epoch();
  push(losses, "train_loss", 0.1);
  push(losses, "train_loss", std::nan(""));
  EXPECT_FALSE(losses.end_epoch().training);
  push(losses, "train_loss", 0.5);
  EXPECT_TRUE(losses.end_epoch().training);
  ASSERT_EQ(losses.training.epochs.size(), 2u);
  EXPECT_EQ(losses.training.epochs.back().mean, 0.5);
  EXPECT_EQ(losses.training.epochs.back().number, 3u);
}

Trend trend_of(const std::vector<double>& epochs) {
  Losses losses;
  for (const double loss : epochs) {
    for (int i = 0; i < 10; ++i) push(losses, "train_loss", loss);
    losses.end_epoch();
  }
  return losses.trend();
}

TEST(Losses, FallWhereTheyAreAtTheirBestAndFarBelowTheirStart) {
  EXPECT_EQ(trend_of({}), Trend::unknown);
  EXPECT_EQ(trend_of({2}), Trend::falls) << "nobody knows yet";
  EXPECT_EQ(trend_of({2, 1, 0.5}), Trend::falls);
  EXPECT_EQ(trend_of({2, 0.5, 0.52}), Trend::falls) << "it has arrived";
  EXPECT_EQ(trend_of({2, 1.98, 1.97}), Trend::stays);
  EXPECT_EQ(trend_of({2, 0.5, 1.5}), Trend::stays) << "it was better";
}

TEST(Losses, SayWhichWasNotFinite) {
  Losses losses;
  push(losses, "train_loss", std::nan(""));
  EXPECT_TRUE(losses.take_non_finite());
  EXPECT_EQ(losses.shown(*losses.non_finite), "the training loss");
  push(losses, "train_loss", 1);
  EXPECT_FALSE(losses.take_non_finite());
  // A finite loss of another name does not show that the step was left out.
  push(losses, "generator loss", INFINITY);
  push(losses, "train_loss", 1);
  EXPECT_TRUE(losses.take_non_finite());
  EXPECT_EQ(losses.shown(*losses.non_finite), "'generator loss'");
  push(losses, "generator loss", INFINITY);
  push(losses, "generator loss", 1);
  EXPECT_FALSE(losses.take_non_finite());
}

/// What is told of two losses after this many epochs, in which they come to these values.
std::vector<Finding> told_of(double first_ends_at, double second_ends_at, int epochs, bool acts = false) {
  loupe::testing::JudgedFindings judged;
  Losses losses;
  const Situation situation{.losses = &losses, .acts = acts};
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const bool is_first = epoch == 0;
    push(losses, "critic loss", is_first ? 1.4 : first_ends_at);
    push(losses, "generator loss", is_first ? 0.7 : second_ends_at);
    losses.end_epoch();
    judge_all(When::losses_of_models, judged.judge("adversary_won"), situation);
  }
  return judged.findings;
}

TEST(Losses, OfAdversariesOneOfWhichHasWonAreTold) {
  const std::vector<Finding> found = told_of(0.001, 9, 4);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, "adversary_won");
  EXPECT_EQ(found[0].severity, uint32_t{LOUPE_SEVERITY_INFO});
  EXPECT_NE(found[0].message.find("'critic loss' has fallen from 1.4 to 0.001"), std::string::npos) << found[0].message;
  EXPECT_EQ(told_of(9, 0.001, 4).size(), 1u) << "the other one may win as well";
  EXPECT_TRUE(told_of(0.001, 9, 3).empty()) << "one epoch may be its end";
  EXPECT_TRUE(told_of(0.3, 9, 4).empty()) << "the critic still has something to tell apart";
  EXPECT_TRUE(told_of(0.001, 0.5, 4).empty()) << "both fall";
  EXPECT_TRUE(told_of(0.001, 9, 4, /*acts=*/true).empty()) << "an actor and a critic are no adversaries";
}

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
