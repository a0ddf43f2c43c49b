// Losses with different names, from programs with several models.

#include "health/rules/losses.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
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

TEST(Losses, CompareAnEpochWithATickOfSeveral) {
  Losses losses;
  for (int i = 0; i < 10; ++i) losses.training.add(1);
  losses.end_epoch();
  for (int i = 0; i < 40; ++i) losses.training.add(2);
  losses.end_epoch(NAN, 4);
  for (int i = 0; i < 40; ++i) losses.training.add(3);
  losses.end_epoch();
  const std::vector<Losses::Epoch>& epochs = losses.training.epochs;
  EXPECT_EQ(epochs[1].number, 5u);
  EXPECT_TRUE(epochs[1].compares_to(epochs[0])) << "ten losses per epoch";
  EXPECT_FALSE(epochs[2].compares_to(epochs[0])) << "a data set that has grown";
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

Trend trend_of(const std::vector<double>& epochs, bool is_guess = false) {
  Losses losses;
  for (const double loss : epochs) {
    for (int i = 0; i < 10; ++i) push(losses, "train_loss", loss);
    losses.end_epoch();
  }
  return losses.trend(is_guess);
}

TEST(Losses, FallWhereTheyAreAtTheirBestAndFarBelowTheirStart) {
  EXPECT_EQ(trend_of({}), Trend::unknown);
  EXPECT_EQ(trend_of({2}), Trend::falls) << "too early to tell";
  EXPECT_EQ(trend_of({2, 1, 0.5}), Trend::falls);
  EXPECT_EQ(trend_of({2, 0.5, 0.52}), Trend::falls) << "it stays at its lowest";
  EXPECT_EQ(trend_of({2, 1.99, 1.98, 1.97}), Trend::stays);
  EXPECT_EQ(trend_of({2, 0.5, 1.5, 1.5, 1.5}), Trend::stays) << "it was lower before";
}

TEST(Losses, FallWhereOneOfTheLastThreeEpochsMadeThemLowerThanAllBefore) {
  EXPECT_EQ(trend_of({2, 1.6, 1.4, 1.3, 1.0, 1.2}), Trend::falls) << "it swings, but its lowest value falls";
  EXPECT_EQ(trend_of({2, 1.6, 1.0, 1.3, 1.2, 1.2}), Trend::stays);
  EXPECT_EQ(trend_of({2.394, 2.31, 1.222, 0.773}, /*is_guess=*/true), Trend::falls) << "the guess is one epoch old";
}

TEST(Losses, AreNotJudgedByTheFirstLossOfAnEpoch) {
  Losses losses;
  for (const double loss : {2.0, 1.0, 1.0, 1.0}) {
    for (int i = 0; i < 10; ++i) push(losses, "train_loss", loss);
    losses.end_epoch();
  }
  for (int i = 0; i < 2; ++i) push(losses, "train_loss", 1.4);
  EXPECT_EQ(losses.trend(), Trend::falls) << "two of ten may be noise";
  push(losses, "train_loss", 1.4);
  EXPECT_EQ(losses.trend(), Trend::stays);
}

TEST(Losses, ThatAreNoBetterThanAGuessStayUnlessTheyStillFall) {
  EXPECT_EQ(trend_of({50, 2.31, 2.3, 2.3, 2.3}), Trend::falls);
  EXPECT_EQ(trend_of({50, 2.31, 2.3, 2.3, 2.3}, /*is_guess=*/true), Trend::stays);
  EXPECT_EQ(trend_of({50, 30, 20}, /*is_guess=*/true), Trend::falls);
}

TEST(Losses, NameTheLossThatWasNotFinite) {
  Losses losses;
  push(losses, "train_loss", std::nan(""));
  EXPECT_TRUE(losses.take_non_finite());
  EXPECT_EQ(losses.shown(*losses.non_finite), "the training loss");
  push(losses, "train_loss", 1);
  EXPECT_FALSE(losses.take_non_finite());
  // A finite loss with a different name does not show that the step was skipped.
  push(losses, "generator loss", INFINITY);
  push(losses, "train_loss", 1);
  EXPECT_TRUE(losses.take_non_finite());
  EXPECT_EQ(losses.shown(*losses.non_finite), "'generator loss'");
  push(losses, "generator loss", INFINITY);
  push(losses, "generator loss", 1);
  EXPECT_FALSE(losses.take_non_finite());
}

/// The findings for two losses after this many epochs, in which they have these values.
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

TEST(Losses, ReportAnAdversaryThatHasWon) {
  const std::vector<Finding> found = told_of(0.001, 9, 4);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, "adversary_won");
  EXPECT_EQ(found[0].severity, uint32_t{LOUPE_SEVERITY_INFO});
  EXPECT_NE(found[0].message.find("'critic loss' has fallen from 1.4 to 0.001"), std::string::npos) << found[0].message;
  EXPECT_EQ(told_of(9, 0.001, 4).size(), 1u) << "either side may win";
  EXPECT_TRUE(told_of(0.001, 9, 3).empty()) << "one epoch may be an exception";
  EXPECT_TRUE(told_of(0.3, 9, 4).empty()) << "the critic still makes errors";
  EXPECT_TRUE(told_of(0.001, 0.5, 4).empty()) << "both fall";
  EXPECT_TRUE(told_of(0.001, 9, 4, /*acts=*/true).empty()) << "an actor and a critic are not adversaries";
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

/// Whether a rule reports something after epochs with these losses.
/// @param together  how many epochs end together
bool is_told(const char* rule, const std::vector<double>& epochs, Situation now, double input_square = NAN,
             std::size_t together = 1) {
  Losses losses;
  testing::JudgedFindings judged;
  now.losses = &losses;
  for (std::size_t epoch = 0; epoch < epochs.size(); ++epoch) {
    for (int i = 0; i < 10; ++i) push(losses, "train_loss", epochs[epoch]);
    losses.end_epoch(epoch + 1 < epochs.size() ? 1 : input_square, together);
    for (const Rule::Look& look : rule_named(rule).looks) look.judge(judged.judge(rule), now);
  }
  return !judged.findings.empty();
}

TEST(DivergingLoss, OfAnAgentGrowsAHundredfoldInEightEpochsInARow) {
  const std::vector<double> grows = {1, 2, 4, 8, 16, 32, 64, 120, 200};
  EXPECT_TRUE(is_told("diverging_loss", {1, 2.5, 2.5}, {.may_grow = false}));
  EXPECT_TRUE(is_told("diverging_loss", grows, {.may_grow = true}));
  EXPECT_FALSE(is_told("diverging_loss", {1, 2, 4, 8, 16, 32, 20, 120, 200}, {.may_grow = true})) << "not in a row";
  EXPECT_FALSE(is_told("diverging_loss", {1, 2, 3, 4, 5, 6, 7, 8, 9}, {.may_grow = true}))
      << "the loss grows with the reward";
  EXPECT_TRUE(is_told("diverging_loss", {1, 5, 30, 200}, {.may_grow = true}, NAN, 3)) << "twelve epochs";
  EXPECT_FALSE(is_told("diverging_loss", {1, 5, 30, 200}, {.may_grow = true}, NAN, 2))
      << "eight epochs, of which it grew in six";
}

TEST(DivergingLoss, IsNotReportedIfTheScaleOfInputsChanged) {
  EXPECT_TRUE(is_told("diverging_loss", {1, 0.5, 2, 2}, {}, /*input_square=*/1.5));
  EXPECT_FALSE(is_told("diverging_loss", {1, 0.5, 2, 2}, {}, /*input_square=*/3));
}

/// Judges losses epoch by epoch; a finding ends with the first epoch in which it is not seen.
struct JudgedEpochs {
  explicit JudgedEpochs(const char* rule) : rule_(rule) {}
  /// An epoch with these training losses and, unless it is NaN, this validation loss.
  void epoch(const std::vector<double>& losses, double held_out = NAN) {
    for (const double loss : losses) push(losses_, "train_loss", loss);
    if (!std::isnan(held_out)) losses_.validation.add(held_out);
    losses_.end_epoch();
    Judge judge = judged_.judge(rule_);
    judge.when = When::tick;
    for (const Rule::Look& look : rule_named(rule_).looks) look.judge(judge, {.losses = &losses_});
    judged_.ledger.end(judged_.report, {.tick = true,
                                        .window = [](const loupe_module*) { return true; },
                                        .is_open = [](const Finding&) { return false; }});
  }
  const std::vector<Finding>& findings() const { return judged_.findings; }
  /// The losses that loss_spike has seen.
  std::deque<double>& recent() { return losses_.main.recent; }
  bool stands() const { return !findings().empty() && !findings().back().is_over; }

 private:
  const char* rule_;
  Losses losses_;
  testing::JudgedFindings judged_;
};

/// 20 losses that go from one value to the other by the same factor each.
std::vector<double> from_to(double first, double last) {
  std::vector<double> losses;
  for (int i = 0; i < 20; ++i) losses.push_back(first * std::pow(last / first, i / 19.0));
  return losses;
}

TEST(DivergingLoss, IsNotReportedForANewTaskWhoseLossFalls) {
  JudgedEpochs falls("diverging_loss"), falls_later("diverging_loss"), again("diverging_loss");
  for (JudgedEpochs* each : {&falls, &falls_later, &again})
    each->epoch(from_to(1, 0.1)), each->epoch(from_to(0.1, 0.1));
  falls.epoch(from_to(4, 0.2));
  falls.epoch(from_to(0.2, 0.2));
  EXPECT_TRUE(falls.findings().empty());
  falls_later.epoch(from_to(4, 3.9));
  falls_later.epoch(from_to(3, 2.9));
  falls_later.epoch(from_to(2.9, 2.9));
  EXPECT_TRUE(falls_later.findings().empty()) << "the new task is harder";
  again.epoch(from_to(4, 0.2));
  again.epoch(from_to(0.2, 40));
  EXPECT_TRUE(again.stands()) << "the new task diverges";
}

TEST(DivergingLoss, IsReportedIfAHighEpochGrowsOrIsFollowedByAnother) {
  JudgedEpochs grows("diverging_loss"), stays("diverging_loss"), by_steps("diverging_loss");
  for (JudgedEpochs* each : {&grows, &stays, &by_steps}) each->epoch(from_to(1, 0.1)), each->epoch(from_to(0.1, 0.1));
  grows.epoch(from_to(2, 8));
  EXPECT_TRUE(grows.stands());
  stays.epoch(from_to(4, 4));
  stays.epoch(from_to(4, 4));
  EXPECT_TRUE(stays.stands());
  std::vector<double> high = from_to(9, 2);
  high.front() = 0.1;
  by_steps.epoch(high);
  EXPECT_TRUE(by_steps.stands()) << "its first loss was low, so its steps made it high";
}

/// 24 losses that swing by six tenths of this mean.
std::vector<double> swinging(double mean) {
  std::vector<double> losses;
  for (int i = 0; i < 24; ++i) losses.push_back(mean * (1 + (i / 2 % 2 == 0 ? 0.6 : -0.6) * (i % 2 == 0 ? 1 : 0.7)));
  return losses;
}

TEST(LossOscillating, IsNotReportedForALossThatFallsSlowly) {
  JudgedEpochs falls("loss_oscillating"), stays("loss_oscillating");
  for (const double mean : {1.69, 1.602, 1.596, 1.5, 1.43}) falls.epoch(swinging(mean));
  EXPECT_TRUE(falls.findings().empty());
  for (int i = 0; i < 3; ++i) stays.epoch(swinging(1.69));
  EXPECT_TRUE(stays.stands());
}

/// 80 losses that rise and fall with the order of their samples, and a little on their own in each epoch.
std::vector<double> sorted_losses(int epoch) {
  std::vector<double> losses;
  for (int i = 0; i < 80; ++i) losses.push_back((i / 10 % 2 == 0 ? 1.5 : 0.5) + 0.1 * std::sin(0.7 * (i + 17 * epoch)));
  return losses;
}

TEST(LossOscillating, LastsWhileTheCurveStillRepeatsThoughSomeLossesAreZero) {
  JudgedEpochs sorted("loss_oscillating");
  for (int epoch = 0; epoch < 3; ++epoch) sorted.epoch(sorted_losses(epoch));
  ASSERT_TRUE(sorted.stands());
  EXPECT_NE(sorted.findings().back().message.find("in the same way"), std::string::npos);
  sorted.recent() = {0, 1, 0};
  for (int epoch = 0; epoch < 6; ++epoch) sorted.epoch(sorted_losses(epoch));
  EXPECT_TRUE(sorted.stands());
  std::vector<double> shuffled;
  for (int i = 0; i < 80; ++i) shuffled.push_back(0.5 + 0.1 * std::sin(1.1 * i));
  sorted.epoch(shuffled);
  EXPECT_FALSE(sorted.stands());
}

TEST(LossOscillating, IsNamedBeforeTheRateAsACauseOfDeadUnitsOnlyForSortedSamples) {
  const Observation dead{.rule = &rule_named("dead_units")};
  const std::vector<Effects>& links = rule_named("loss_oscillating").brings_about;
  const auto link = std::ranges::find_if(links, [](const Effects& each) { return each.has("dead_units"); });
  ASSERT_NE(link, links.end());
  EXPECT_EQ(link->strength, Strength::hint) << "it stays as bad as it is";
  EXPECT_TRUE(link->agrees({.message = "the training loss rises and falls in the same way in each epoch (…)"}, dead));
  EXPECT_FALSE(link->agrees({.message = "the training loss swings slowly up and down"}, dead));
}

/// Whether `overfitting` is reported after epochs of these validation losses, while the training loss falls.
bool overfits(const std::vector<double>& held_out) {
  JudgedEpochs judged("overfitting");
  for (std::size_t epoch = 0; epoch < held_out.size(); ++epoch)
    judged.epoch(std::vector<double>(10, 1.2 * std::pow(0.8, static_cast<double>(epoch))), held_out[epoch]);
  return !judged.findings().empty();
}

TEST(Overfitting, LastsWhileTheValidationLossIsHighThoughTheTrainingLossRises) {
  JudgedEpochs restarts("overfitting");
  double trained = 1;
  for (const double held_out : {1.0, 0.7, 0.5, 0.5, 0.6, 0.7, 0.8})
    restarts.epoch(std::vector<double>(10, trained *= 0.7), held_out);
  ASSERT_TRUE(restarts.stands());
  for (int i = 0; i < 3; ++i) restarts.epoch(std::vector<double>(10, 0.7), 1.2);
  EXPECT_TRUE(restarts.stands());
  restarts.epoch(std::vector<double>(10, 0.5), 0.5);
  EXPECT_TRUE(restarts.stands()) << "one low epoch may be luck";
  restarts.epoch(std::vector<double>(10, 0.5), 0.5);
  EXPECT_FALSE(restarts.stands()) << "the validation loss is low again";
}

TEST(Overfitting, IsALossThatFellAndGrows) {
  EXPECT_TRUE(overfits({1, 0.7, 0.5, 0.5, 0.6, 0.7, 0.8}));
  EXPECT_FALSE(overfits({1, 0.7, 0.5, 0.45, 0.4, 0.4, 0.41}));
  EXPECT_FALSE(overfits({0.97, 0.64, 0.45, 0.36, 0.42, 0.49, 0.3, 0.39, 0.37, 0.46, 0.46})) << "one epoch was lucky";
}

TEST(Overfitting, IsNoLossThatStillFallsAfterARateRestarted) {
  const auto reported = [](double last) {
    JudgedEpochs judged("overfitting");
    const std::vector<double> trained{1, 0.5, 0.3, 0.2, 0.6, 0.5, 0.4, 0.25, 0.17};
    const std::vector<double> held_out{1, 0.5, 0.3, 0.3, 0.9, 0.7, 0.55, 0.45, last};
    for (std::size_t epoch = 0; epoch < trained.size(); ++epoch)
      judged.epoch(std::vector<double>(10, trained[epoch]), held_out[epoch]);
    return !judged.findings().empty();
  };
  EXPECT_FALSE(reported(0.4));
  EXPECT_TRUE(reported(0.5));
}

TEST(Overfitting, OfALossThatNeverFellNeedsSteadyGrowth) {
  EXPECT_TRUE(overfits({1, 1.05, 1.1, 1.2, 1.3, 1.35}));
  EXPECT_FALSE(overfits({1, 1.2, 1.05, 1.25, 1.1, 1.2, 1.15})) << "noise";
}

/// The finding for a loss that jumps after 30 steps.
Finding spike(const Situation& situation) {
  Losses losses;
  testing::JudgedFindings judged;
  Situation now = situation;
  now.losses = &losses;
  for (int i = 0; i < 30; ++i) push(losses, "train_loss", 1 + 0.01 * (i % 3));
  push(losses, "train_loss", 40);
  rule_named("loss_spike").looks[0].judge(judged.judge("loss_spike"), now);
  return judged.findings.empty() ? Finding() : judged.findings.back();
}

TEST(LossSpike, NamesAJumpOfTheInputsAtTheSameTime) {
  EXPECT_NE(spike({}).advice.find("learning rate"), std::string::npos);
  const Finding stage = spike({.input_jump = 1.6}), outlier = spike({.input_jump = 100});
  EXPECT_NE(stage.message.find("1.6 times"), std::string::npos);
  EXPECT_EQ(stage.advice.find("learning rate"), std::string::npos);
  EXPECT_EQ(stage.severity, uint32_t{LOUPE_SEVERITY_INFO}) << "a new stage of training";
  EXPECT_EQ(outlier.severity, uint32_t{LOUPE_SEVERITY_WARNING}) << "a batch that is far from all others";
}

TEST(LossSpike, IsNotReportedForTheFirstLossOfAnEpoch) {
  const auto spikes = [](int place) {
    JudgedEpochs judged("loss_spike");
    std::vector<double> losses(30, 1);
    judged.epoch(losses);
    losses[static_cast<std::size_t>(place)] = 40;
    judged.epoch(losses);
    return judged.stands();
  };
  EXPECT_FALSE(spikes(0)) << "a new task";
  EXPECT_TRUE(spikes(1));
}

TEST(LossSpike, WaitsForAStepWhoseInputsWereMeasured) {
  Losses losses;
  testing::JudgedFindings judged;
  Situation now;
  now.losses = &losses;
  const auto told_after = [&](double loss, double input_jump) {
    push(losses, "train_loss", loss);
    now.input_jump = input_jump;
    judged.findings.clear();
    rule_named("loss_spike").looks[0].judge(judged.judge("loss_spike"), now);
    return judged.findings.empty() ? Finding() : judged.findings.back();
  };
  for (int i = 0; i < 100; ++i) told_after(1 + 0.01 * (i % 3), i % 8 == 0 ? 1 : NAN);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(told_after(3, NAN).message, "");
  const Finding told = told_after(3, 1.6);
  EXPECT_EQ(told.severity, uint32_t{LOUPE_SEVERITY_INFO});
  EXPECT_NE(told.message.find("1.6 times"), std::string::npos);
  EXPECT_NE(told_after(3, 1.1).message.find("1.6 times"), std::string::npos)
      << "the jump that began the row of high losses";
}

TEST(LossSpike, IsNotReportedForTheFirstLossesOfAnAgent) {
  EXPECT_EQ(spike({.acts = true}).message, "");
}

}  // namespace
}  // namespace loupe::health
