// At which steps epochs end in a program that does not report them.

#include "run/epoch_clock.h"

#include <gtest/gtest.h>
#include <loupe/abi.h>

#include <utility>

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

const int first = 0, second = 0;

/// Makes a step as a loop that calls backward() before each step.
bool step(EpochClock& clock, const void* optimizer) {
  bool ends = clock.step_begins();
  if (ends) clock.ticked();
  clock.went_backward();
  const bool ends_with_it = clock.stepped(optimizer);
  if (ends_with_it) clock.ticked();
  return ends || ends_with_it;
}

int ticks_of_steps(EpochClock& clock, int steps, const void* optimizer) {
  int ticks = 0;
  for (int i = 0; i < steps; ++i) ticks += step(clock, optimizer) ? 1 : 0;
  return ticks;
}

/// Trains this many epochs; calls `begins` before and `ends` after the steps of each. Returns the number of ticks.
template <class Begins, class Ends>
int ticks_of_epochs(EpochClock& clock, int epochs, int steps, Begins&& begins, Ends&& ends) {
  int ticks = 0;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    if (begins()) {
      clock.ticked();
      ++ticks;
    }
    ticks += ticks_of_steps(clock, steps, &first);
    ends();
  }
  return ticks + (clock.has_passes() ? 1 : 0);  // the end of the program is a tick, too
}
bool nothing() {
  return false;
}

TEST(EpochClock, CountsStepsIfTheProgramShowsNoEpochs) {
  EpochClock clock = clock_of(Epoch::automatic);
  EXPECT_EQ(ticks_of_steps(clock, 250, &first), 2);
  EXPECT_TRUE(clock.has_passes());
  EXPECT_FALSE(clock.knows_epochs());
}

TEST(EpochClock, EndsAnEpochAfterTheStepsOfTheLastOptimizer) {
  EpochClock clock = clock_of(Epoch::steps, 2);
  for (int epoch = 0; epoch < 3; ++epoch) {
    EXPECT_FALSE(clock.stepped(&first));
    EXPECT_FALSE(clock.stepped(&second));
    EXPECT_FALSE(clock.stepped(&first));
    EXPECT_TRUE(clock.stepped(&second));
    clock.ticked();
  }
}

TEST(EpochClock, DoesNotWaitForAnOptimizerThatNoLongerSteps) {
  EpochClock clock = clock_of(Epoch::steps, 2);
  clock.stepped(&first);
  clock.stepped(&second);
  clock.ticked();
  EXPECT_EQ(ticks_of_steps(clock, 4, &first), 1);
  EXPECT_EQ(ticks_of_steps(clock, 4, &first), 2);
}

TEST(EpochClock, EndsAnEpochIfTrainFollowsEval) {
  EpochClock clock = clock_of(Epoch::automatic);
  EXPECT_FALSE(clock.mode_set(true));
  EXPECT_EQ(ticks_of_steps(clock, 450, &first), 0);
  EXPECT_FALSE(clock.mode_set(false));
  EXPECT_FALSE(clock.trains());
  EXPECT_TRUE(clock.mode_set(true));
  clock.ticked();
  EXPECT_FALSE(clock.mode_set(true)) << "train() again, without an eval() in between";
}

TEST(EpochClock, DoesNotWaitForeverForAnEval) {
  EpochClock clock = clock_of(Epoch::automatic);
  clock.mode_set(true);
  EXPECT_EQ(ticks_of_steps(clock, 1001, &first), 2);
}

TEST(EpochClock, EndsAnEpochIfTrainIsCalledAgainAfterSteps) {
  EpochClock clock = clock_of(Epoch::automatic);
  EXPECT_EQ(ticks_of_epochs(
                clock, 3, 130, [&] { return clock.mode_set(true); }, nothing),
            3);
}

TEST(EpochClock, DividesOnlyTheFirstEpochIfTrainIsCalledInEach) {
  for (const auto& [steps, ticks] : {std::pair(499, 5), {500, 5}, {501, 6}, {1000, 6}, {1499, 7}, {1500, 7}}) {
    EpochClock by_train = clock_of(Epoch::automatic), by_both = clock_of(Epoch::automatic);
    EXPECT_EQ(ticks_of_epochs(
                  by_train, 5, steps, [&] { return by_train.mode_set(true); }, nothing),
              ticks)
        << steps;
    const auto validate = [&] {
      by_both.mode_set(false);
      by_both.hint(EpochClock::Hint::validation);
    };
    EXPECT_EQ(ticks_of_epochs(
                  by_both, 5, steps, [&] { return by_both.mode_set(true); }, validate),
              ticks)
        << steps;
  }
}

TEST(EpochClock, CountsStepsIfTrainIsCalledInEachStep) {
  EpochClock clock = clock_of(Epoch::automatic);
  EXPECT_EQ(ticks_of_epochs(
                clock, 300, 1, [&] { return clock.mode_set(true); }, nothing),
            3);
}

TEST(EpochClock, AcceptsOneStepAsAnEpochIfAValidationFollows) {
  EpochClock clock = clock_of(Epoch::automatic);
  const auto validate = [&] {
    clock.mode_set(false);
    clock.hint(EpochClock::Hint::validation);
  };
  EXPECT_EQ(ticks_of_epochs(
                clock, 5, 1, [&] { return clock.mode_set(true); }, validate),
            5);
}

TEST(EpochClock, EndsAnEpochIfTheSamplerOfTheStepsRestarts) {
  const int training = 0, validation = 0;
  EpochClock clock = clock_of(Epoch::automatic);
  const auto validate = [&] { EXPECT_FALSE(clock.order_begins(&validation, true)) << "no step uses its samples"; };
  EXPECT_EQ(ticks_of_epochs(
                clock, 4, 300, [&] { return clock.order_begins(&training, true); }, validate),
            4);
}

TEST(EpochClock, EndsAnEpochIfTheProgramShufflesItsSamplesAgain) {
  const int samples = 0, negatives = 0, mixed = 0;
  EpochClock clock = clock_of(Epoch::automatic);
  const auto shuffle = [&] {
    EXPECT_FALSE(clock.order_begins(&samples, false)) << "another order follows";
    return clock.order_begins(&negatives, false);
  };
  EXPECT_EQ(ticks_of_epochs(clock, 9, 12, shuffle, nothing), 9);
  EXPECT_TRUE(clock.knows_epochs());

  EpochClock mixing = clock_of(Epoch::automatic);
  int ticks = 0;
  for (int epoch = 0; epoch < 9; ++epoch) {
    if (mixing.order_begins(&samples, false)) {
      mixing.ticked();
      ++ticks;
    }
    for (int i = 0; i < 12; ++i) {
      EXPECT_FALSE(mixing.order_begins(&mixed, false)) << "drawn for each step";
      ticks += step(mixing, &first) ? 1 : 0;
    }
  }
  EXPECT_EQ(ticks, 8);
}

TEST(EpochClock, CountsStepsIfEachStepDrawsABatchOrStartsALoader) {
  const int batch = 0;
  for (const bool is_loader : {false, true}) {
    EpochClock clock = clock_of(Epoch::automatic);
    EXPECT_EQ(ticks_of_epochs(
                  clock, 300, 1, [&] { return clock.order_begins(&batch, is_loader); }, nothing),
              3);
    EXPECT_FALSE(clock.knows_epochs());
  }
}

TEST(EpochClock, EndsEpochsOfALoaderAfterATrialOfOneStep) {
  const int samples = 0;
  EpochClock clock = clock_of(Epoch::automatic);
  clock.order_begins(&samples, true);
  step(clock, &first);
  EXPECT_EQ(ticks_of_epochs(
                clock, 5, 20, [&] { return clock.order_begins(&samples, true); }, nothing),
            5);
}

TEST(EpochClock, EndsAnEpochBehindAValidationAStepOfASchedulerOrTheLastOfItsSamples) {
  for (const EpochClock::Hint hint :
       {EpochClock::Hint::validation, EpochClock::Hint::schedule, EpochClock::Hint::rows}) {
    EpochClock clock = clock_of(Epoch::automatic);
    const auto ends = [&] {
      for (int batch = 0; batch < 3; ++batch) clock.hint(hint);
    };
    EXPECT_EQ(ticks_of_epochs(clock, 12, 20, nothing, ends), 12);
    EXPECT_TRUE(clock.knows_epochs());
    EpochClock long_epochs = clock_of(Epoch::automatic);
    EXPECT_EQ(ticks_of_epochs(long_epochs, 3, 90, nothing, [&] { long_epochs.hint(hint); }), 3);
    EpochClock each_step = clock_of(Epoch::automatic);
    EXPECT_EQ(ticks_of_epochs(each_step, 300, 1, nothing, [&] { each_step.hint(hint); }), 3);
  }
}

TEST(EpochClock, CountsStepsAgainAfterWrongHints) {
  EpochClock clock = clock_of(Epoch::automatic);
  ticks_of_steps(clock, 8, &first);
  clock.hint(EpochClock::Hint::rows);
  EXPECT_EQ(ticks_of_steps(clock, 8, &first), 1);
  clock.forget_hints();
  EXPECT_FALSE(clock.knows_epochs());
  EXPECT_EQ(ticks_of_steps(clock, 300, &first), 3);
}

TEST(EpochClock, EndsNoEpochAtAValidationIfAnOrderShowsEpochs) {
  const int samples = 0;
  EpochClock clock = clock_of(Epoch::automatic);
  int ticks = 0;
  for (int epoch = 0; epoch < 6; ++epoch) {
    if (clock.order_begins(&samples, true)) {
      clock.ticked();
      ++ticks;
    }
    for (int part = 0; part < 4; ++part) {
      if (epoch > 0) {
        EXPECT_EQ(ticks_of_steps(clock, 20, &first), 0);
      } else {
        ticks_of_steps(clock, 20, &first);
      }
      clock.hint(EpochClock::Hint::validation);
    }
  }
  EXPECT_EQ(ticks, 5);
}

TEST(EpochClock, CountsStepsIfTheModesChangeWithEveryStep) {
  EpochClock clock = clock_of(Epoch::automatic);
  EXPECT_EQ(ticks_of_epochs(
                clock, 200, 1, [&] { return clock.mode_set(true); }, [&] { clock.mode_set(false); }),
            2);
}

TEST(EpochClock, EndsEpochsOfAProgramInWhichNothingSteps) {
  EpochClock clock = clock_of(Epoch::automatic);
  EXPECT_FALSE(clock.has_passes());
  int ticks = 0;
  for (int i = 0; i < 4500; ++i) {
    EXPECT_FALSE(clock.step_begins());
    if (!clock.went_backward()) continue;
    clock.ticked();
    ++ticks;
  }
  EXPECT_EQ(ticks, 2);
  EXPECT_TRUE(clock.has_passes());
  clock.mode_set(false);
  EXPECT_TRUE(clock.mode_set(true));
}

TEST(EpochClock, EndsNoneWhereStepsAreLeftOutAtFirstOrTakeSeveralPasses) {
  EpochClock clock = clock_of(Epoch::automatic);
  for (int pass = 0; pass < 40; ++pass) {
    EXPECT_FALSE(clock.step_begins()) << "the scale is too large at first, or the step has a closure: " << pass;
    EXPECT_FALSE(clock.went_backward());
  }
  EXPECT_FALSE(clock.stepped(&first));
}

TEST(EpochClock, DoesNotCountAccumulatedGradientsAsAnEpochAfterAStep) {
  EpochClock clock = clock_of(Epoch::automatic);
  clock.stepped(&first);
  clock.ticked();
  for (int i = 0; i < 4500; ++i) EXPECT_FALSE(clock.went_backward());
  EXPECT_FALSE(clock.has_passes());
}

TEST(EpochClock, ReportsTheReasonForTheEndOfAnEpoch) {
  EpochClock steps = clock_of(Epoch::steps, 2), seconds = clock_of(Epoch::seconds, 0),
             modes = clock_of(Epoch::train_eval);
  EXPECT_EQ(steps.reason(), LOUPE_TICK_STEPS);
  EXPECT_EQ(seconds.reason(), LOUPE_TICK_SECONDS);
  EXPECT_EQ(modes.reason(), LOUPE_TICK_EPOCH);
  EXPECT_TRUE(steps.counts() && seconds.counts());
  EXPECT_FALSE(modes.counts());

  EpochClock guessing = clock_of(Epoch::automatic, 3);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(step(guessing, &first));
  ASSERT_TRUE(guessing.step_begins());
  EXPECT_EQ(guessing.reason(), LOUPE_TICK_STEPS);
  guessing.ticked();
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(step(guessing, &first));
  guessing.mode_set(false);
  ASSERT_TRUE(guessing.mode_set(true)) << "the program's epoch ends with the step that would end a guessed epoch";
  EXPECT_EQ(guessing.reason(), LOUPE_TICK_EPOCH);
  EXPECT_FALSE(guessing.counts());
}

TEST(EpochClock, FollowsOnlyTheModesIfConfigured) {
  EpochClock clock = clock_of(Epoch::train_eval);
  EXPECT_EQ(ticks_of_steps(clock, 5000, &first), 0);
  clock.mode_set(false);
  EXPECT_TRUE(clock.mode_set(true));
}

TEST(LossNames, NumbersLossesByTheirPlaceInTheProgram) {
  LossNames names("train_loss", {});
  const int places[2] = {};
  EXPECT_EQ(names.of(&places[0]).name, "train_loss");
  EXPECT_EQ(names.of(&places[1]).name, "train_loss#2");
  const LossNames::Named again = names.of(&places[0]);
  EXPECT_TRUE(again.is_main);
  EXPECT_FALSE(again.is_new);
}

TEST(LossNames, UsesGivenNamesInOrderAndIgnoresADash) {
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

TEST(LossNames, UsesAGivenNameAndNumbersEqualOnes) {
  LossNames names("train_loss", {});
  const int places[3] = {};
  for (const int& place : places) names.of(&place);
  EXPECT_EQ(names.call(&places[0], "Critic loss"), "Critic loss");
  EXPECT_EQ(names.call(&places[0], "Critic loss"), "Critic loss") << "the place already has this name";
  EXPECT_EQ(names.call(&places[1], "Critic loss"), "Critic loss#2");
  EXPECT_EQ(names.of(&places[0]).name, "Critic loss");
  EXPECT_TRUE(names.of(&places[0]).is_main);
  EXPECT_EQ(names.of(&places[1]).name, "Critic loss#2");
  EXPECT_EQ(names.of(&places[2]).name, "train_loss#3");
}

TEST(LossNames, MayGiveTwoPlacesTheSameLoss) {
  LossNames names("train_loss", {});
  const int places[3] = {};
  names.of(&places[0]);
  EXPECT_FALSE(names.knows(&places[1]));
  names.join(&places[1], &places[0]);
  EXPECT_TRUE(names.knows(&places[1]));
  EXPECT_EQ(names.of(&places[1]).name, "train_loss");
  EXPECT_EQ(names.of(&places[2]).name, "train_loss#2");
}

}  // namespace
}  // namespace loupe
