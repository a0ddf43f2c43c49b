// Where epochs are taken to end in a program that says nothing of them.

#include "run/epoch_clock.h"

#include <gtest/gtest.h>

#include "run/loss_names.h"

namespace loupe {
namespace {

using Epoch = RunProgramSection::Epoch;

EpochClock clock_of(Epoch kind, double length = 100) {
  RunProgramSection section;
  section.epoch = kind;
  section.epoch_length = length;
  return EpochClock(section);
}

int ticks_of_steps(EpochClock& clock, int steps, const void* optimizer) {
  int ticks = 0;
  for (int i = 0; i < steps; ++i) {
    if (!clock.stepped(optimizer)) continue;
    clock.ticked();
    ++ticks;
  }
  return ticks;
}

const int first = 0, second = 0;

TEST(EpochClock, CountsStepsWhereAProgramCallsNeitherTrainNorEval) {
  EpochClock clock = clock_of(Epoch::automatic);
  EXPECT_EQ(ticks_of_steps(clock, 250, &first), 2);
  EXPECT_TRUE(clock.has_passes());
}

TEST(EpochClock, EndsAnEpochWhenTheLastOfSeveralOptimizersHasTakenItsSteps) {
  EpochClock clock = clock_of(Epoch::steps, 2);
  for (int epoch = 0; epoch < 3; ++epoch) {
    EXPECT_FALSE(clock.stepped(&first));
    EXPECT_FALSE(clock.stepped(&second));
    EXPECT_FALSE(clock.stepped(&first));
    EXPECT_TRUE(clock.stepped(&second));
    clock.ticked();
  }
}

TEST(EpochClock, DoesNotWaitForAnOptimizerThatStepsNoMore) {
  EpochClock clock = clock_of(Epoch::steps, 2);
  clock.stepped(&first);
  clock.stepped(&second);
  clock.ticked();
  EXPECT_EQ(ticks_of_steps(clock, 4, &first), 1);
  EXPECT_EQ(ticks_of_steps(clock, 4, &first), 2);
}

TEST(EpochClock, EndsAnEpochWhereTrainFollowsEval) {
  EpochClock clock = clock_of(Epoch::automatic);
  EXPECT_FALSE(clock.mode_set(true));
  EXPECT_EQ(ticks_of_steps(clock, 450, &first), 0);
  EXPECT_FALSE(clock.mode_set(false));
  EXPECT_FALSE(clock.trains());
  EXPECT_TRUE(clock.mode_set(true));
  clock.ticked();
  EXPECT_FALSE(clock.mode_set(true)) << "train() again, without eval() between";
}

TEST(EpochClock, DoesNotWaitForEverForAnEvalThatNeverComes) {
  EpochClock clock = clock_of(Epoch::automatic);
  clock.mode_set(true);
  EXPECT_EQ(ticks_of_steps(clock, 1000, &first), 2);
}

TEST(EpochClock, EndsAnEpochWhereTrainIsCalledAgainAfterSteps) {
  EpochClock clock = clock_of(Epoch::automatic);
  for (int epoch = 0; epoch < 3; ++epoch) {
    EXPECT_EQ(clock.mode_set(true), epoch > 0);
    clock.ticked();
    EXPECT_EQ(ticks_of_steps(clock, 130, &first), 0);
  }
}

TEST(EpochClock, CountsStepsWhereTrainIsCalledInEachOfThem) {
  EpochClock clock = clock_of(Epoch::automatic);
  int ticks = 0;
  for (int i = 0; i < 300; ++i) {
    EXPECT_FALSE(clock.mode_set(true));
    ticks += ticks_of_steps(clock, 1, &first);
  }
  EXPECT_EQ(ticks, 3);
}

TEST(EpochClock, TakesOneStepForAnEpochWhereAValidationFollows) {
  EpochClock clock = clock_of(Epoch::automatic);
  clock.mode_set(true);
  for (int epoch = 0; epoch < 5; ++epoch) {
    EXPECT_FALSE(clock.stepped(&first));
    clock.mode_set(false);
    clock.validated();
    EXPECT_TRUE(clock.mode_set(true)) << epoch;
    clock.ticked();
  }
}

TEST(EpochClock, EndsAnEpochWhereTheSamplerThatFeedsTheStepsBeginsAnew) {
  const int training = 0, validation = 0;
  EpochClock clock = clock_of(Epoch::automatic);
  for (int epoch = 0; epoch < 3; ++epoch) {
    EXPECT_EQ(clock.sampler_reset(&training), epoch > 0) << epoch;
    clock.ticked();
    EXPECT_EQ(ticks_of_steps(clock, 300, &first), 0);
    EXPECT_FALSE(clock.sampler_reset(&validation)) << "nothing is learnt from what it brings";
  }
}

TEST(EpochClock, CountsStepsWhereTheModesChangeWithEveryStep) {
  EpochClock clock = clock_of(Epoch::automatic);
  int ticks = 0;
  for (int i = 0; i < 200; ++i) {
    EXPECT_FALSE(clock.mode_set(true));
    if (clock.stepped(&first)) {
      clock.ticked();
      ++ticks;
    }
    clock.mode_set(false);
  }
  EXPECT_EQ(ticks, 2);
}

TEST(EpochClock, EndsEpochsOfAProgramInWhichNothingSteps) {
  EpochClock clock = clock_of(Epoch::automatic);
  EXPECT_FALSE(clock.has_passes());
  int ticks = 0;
  for (int i = 0; i < 4500; ++i) {
    if (!clock.went_backward()) continue;
    clock.ticked();
    ++ticks;
  }
  EXPECT_EQ(ticks, 2);
  EXPECT_TRUE(clock.has_passes());
  clock.mode_set(false);
  EXPECT_TRUE(clock.mode_set(true));
}

TEST(EpochClock, EndsOnceWhereGradientsAreClearedThreeTimesAndNothingSteps) {
  EpochClock clock = clock_of(Epoch::automatic);
  EXPECT_FALSE(clock.cleared()) << "before the first backward";
  for (int pass = 1; pass <= 10; ++pass) {
    clock.went_backward();
    EXPECT_EQ(clock.cleared(), pass == 3) << pass;
    EXPECT_FALSE(clock.cleared()) << "again, without a backward in between";
    if (pass == 3) clock.ticked();
  }
  EpochClock stepping = clock_of(Epoch::automatic);
  for (int pass = 1; pass <= 10; ++pass) {
    stepping.went_backward();
    stepping.stepped(&first);
    EXPECT_FALSE(stepping.cleared());
  }
}

TEST(EpochClock, TakesGradientsThatAreAccumulatedForNoEpochOnceSomethingHasStepped) {
  EpochClock clock = clock_of(Epoch::automatic);
  clock.stepped(&first);
  clock.ticked();
  for (int i = 0; i < 4500; ++i) EXPECT_FALSE(clock.went_backward());
  EXPECT_FALSE(clock.has_passes());
}

TEST(EpochClock, FollowsOnlyTheModesWhereItIsToldSo) {
  EpochClock clock = clock_of(Epoch::train_eval);
  EXPECT_EQ(ticks_of_steps(clock, 5000, &first), 0);
  clock.mode_set(false);
  EXPECT_TRUE(clock.mode_set(true));
}

TEST(LossNames, NumbersLossesByThePlaceTheyComeFrom) {
  LossNames names("train_loss", {});
  const int places[2] = {};
  EXPECT_EQ(names.of(&places[0]).name, "train_loss");
  EXPECT_EQ(names.of(&places[1]).name, "train_loss#2");
  const LossNames::Named again = names.of(&places[0]);
  EXPECT_TRUE(again.is_main);
  EXPECT_FALSE(again.is_new);
}

TEST(LossNames, TakesGivenNamesByOrderAndLeavesOutADash) {
  LossNames names("train_loss", {"-", "judge"});
  const int places[3] = {};
  EXPECT_EQ(names.of(&places[0]).name, "");
  EXPECT_FALSE(names.of(&places[0]).is_main);
  EXPECT_EQ(names.of(&places[1]).name, "judge");
  EXPECT_TRUE(names.of(&places[1]).is_main);
  EXPECT_EQ(names.of(&places[2]).name, "train_loss#3");
  EXPECT_FALSE(names.is_numbered(&places[0]));
  EXPECT_TRUE(names.is_numbered(&places[2]));
}

TEST(LossNames, CallsLossesAsItIsToldAndNumbersThoseOfOneName) {
  LossNames names("train_loss", {});
  const int places[3] = {};
  for (const int& place : places) names.of(&place);
  EXPECT_EQ(names.call(&places[0], "Critic loss"), "Critic loss");
  EXPECT_EQ(names.call(&places[0], "Critic loss"), "Critic loss") << "it has that name";
  EXPECT_EQ(names.call(&places[1], "Critic loss"), "Critic loss#2");
  EXPECT_EQ(names.of(&places[0]).name, "Critic loss");
  EXPECT_TRUE(names.of(&places[0]).is_main);
  EXPECT_EQ(names.of(&places[1]).name, "Critic loss#2");
  EXPECT_EQ(names.of(&places[2]).name, "train_loss#3");
}

}  // namespace
}  // namespace loupe
