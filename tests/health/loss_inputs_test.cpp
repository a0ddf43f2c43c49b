#include "health/rules/loss_inputs.h"

#include <gtest/gtest.h>

#include <cmath>

namespace loupe::health {
namespace {

constexpr int looks_of_an_epoch = 8;

void take_cross_entropies(Guessing& guessing, double loss, int epochs, int looks = looks_of_an_epoch) {
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (int look = 0; look < looks; ++look) guessing.take_cross_entropy(loss, 5);
    guessing.end_epoch();
  }
}

/// Targets alternate between 1 and 3, so that their variance is 1.
void take_squares(Guessing& guessing, double error, int epochs) {
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (int look = 0; look < looks_of_an_epoch; ++look) {
      guessing.take_pair(1 + error, 1);
      guessing.take_pair(3 - error, 3);
      guessing.take_look();
    }
    guessing.end_epoch();
  }
}

TEST(Guessing, IsWhatACrossEntropyOfEqualScoresDoes) {
  Guessing guessing;
  take_cross_entropies(guessing, std::log(5.0), 2);
  EXPECT_FALSE(guessing.is_no_better()) << "two epochs are too early";
  take_cross_entropies(guessing, std::log(5.0) * 0.985, 1);
  EXPECT_TRUE(guessing.is_no_better());
  EXPECT_EQ(guessing.text(), "guessing among 5 classes gives 1.61");
  take_cross_entropies(guessing, std::log(5.0) * 0.975, 1);
  EXPECT_FALSE(guessing.is_no_better());
}

TEST(Guessing, IsNotJudgedByAFewSteps) {
  Guessing guessing;
  take_cross_entropies(guessing, std::log(5.0), 10, looks_of_an_epoch / 4);
  EXPECT_FALSE(guessing.is_no_better()) << "20 looks count as two epochs of eight";
  take_cross_entropies(guessing, std::log(5.0), 2, looks_of_an_epoch / 4);
  EXPECT_TRUE(guessing.is_no_better());
}

TEST(Guessing, EndsOnceAFewStepsAreBetter) {
  Guessing guessing;
  take_cross_entropies(guessing, std::log(5.0), 3);
  EXPECT_TRUE(guessing.was_no_better());
  take_cross_entropies(guessing, 0.5, 1, looks_of_an_epoch / 4);
  EXPECT_FALSE(guessing.was_no_better());
  EXPECT_FALSE(guessing.is_no_better());
}

TEST(Guessing, IsWhatTheMeanOfTheTargetsDoes) {
  Guessing guessing;
  take_squares(guessing, 1.0, 3);
  EXPECT_TRUE(guessing.is_no_better());
  EXPECT_EQ(guessing.text(), "the mean of the targets as a constant answer gives 1");
  take_squares(guessing, 0.9, 1);
  EXPECT_FALSE(guessing.is_no_better());
}

TEST(Guessing, ComparesOnlyTheCrossEntropyIfThereAreBoth) {
  Guessing guessing;
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (int look = 0; look < looks_of_an_epoch; ++look) {
      guessing.take_pair(1, 1);
      guessing.take_look();
      guessing.take_cross_entropy(std::log(5.0), 5);
    }
    guessing.end_epoch();
  }
  EXPECT_TRUE(guessing.is_no_better());
  EXPECT_EQ(guessing.text(), "guessing among 5 classes gives 1.61");
}

TEST(Guessing, IsFarBetterOnlyInTheFirstStepsOfATrainedModel) {
  Guessing guessing;
  EXPECT_FALSE(guessing.is_far_better()) << "no step was measured";
  guessing.take_cross_entropy(1.3, 4);
  EXPECT_FALSE(guessing.is_far_better());
  Guessing trained;
  trained.take_cross_entropy(0.3, 4);
  EXPECT_TRUE(trained.is_far_better());
}

TEST(Guessing, NeedsTargetsThatDiffer) {
  Guessing guessing;
  for (int look = 0; look < 40; ++look) {
    guessing.take_pair(2, 1e6);
    guessing.take_look();
    if (look % looks_of_an_epoch == 7) guessing.end_epoch();
  }
  EXPECT_FALSE(guessing.is_no_better());
}

constexpr int targets_of_a_look = 50;

/// In each look, `common` targets are class 2, and the others are 0, 1 and 3 in turn.
void take_classes(TargetTally& tally, int common, int64_t answer, int epochs, int64_t classes = 4) {
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (int look = 0; look < looks_of_an_epoch; ++look) {
      for (int i = 0; i < targets_of_a_look; ++i)
        tally.take_class(i < targets_of_a_look - common ? (i % 3 == 2 ? 3 : i % 3) : 2, answer, classes);
      tally.take_look("cross_entropy");
    }
    tally.end_epoch();
  }
}

void take_pairs(TargetTally& tally, double output, double target, int epochs, int looks = looks_of_an_epoch) {
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (int look = 0; look < looks; ++look) {
      for (int i = 0; i < targets_of_a_look; ++i) tally.take_pair(output, target);
      tally.take_look("mse_loss");
    }
    tally.end_epoch();
  }
}

TEST(TargetTally, FindsTheClassOfMostTargets) {
  TargetTally tally;
  take_classes(tally, 45, 1, 2);
  EXPECT_TRUE(tally.is_unbalanced());
  EXPECT_EQ(tally.common_class(), 2);
  EXPECT_EQ(tally.classes(), 4);
  EXPECT_DOUBLE_EQ(tally.share(), 0.9);
  EXPECT_FALSE(tally.answers_one_class());
}

TEST(TargetTally, ReportsNothingForBalancedTargets) {
  TargetTally tally;
  take_classes(tally, 25, 2, 5);
  EXPECT_FALSE(tally.is_unbalanced());
  EXPECT_FALSE(tally.answers_one_class());
}

TEST(TargetTally, NeedsMoreOfTwoClassesThanOfMany) {
  TargetTally of_many, of_two;
  take_classes(of_many, 42, 1, 2, 4);
  take_classes(of_two, 42, 1, 2, 2);
  EXPECT_TRUE(of_many.is_unbalanced());
  EXPECT_FALSE(of_two.is_unbalanced());
}

TEST(TargetTally, ReportsAModelThatAnswersOneClassAfterThreeEpochs) {
  TargetTally tally;
  take_classes(tally, 45, 2, 2);
  EXPECT_FALSE(tally.answers_one_class());
  take_classes(tally, 45, 2, 1);
  EXPECT_TRUE(tally.answers_one_class());
  take_classes(tally, 45, 1, 1);
  EXPECT_FALSE(tally.answers_one_class());
}

TEST(TargetTally, DoesNotJudgeTargetsOfOneClassAlone) {
  TargetTally tally;
  take_classes(tally, targets_of_a_look, 2, 4);
  EXPECT_FALSE(tally.is_unbalanced()) << "another rule reports cross_entropy over one class";
}

TEST(TargetTally, DoesNotJudgeSeveralHeadsTogether) {
  TargetTally tally;
  for (int epoch = 0; epoch < 4; ++epoch) {
    take_classes(tally, 45, 2, 1, 4);
    take_classes(tally, 45, 2, 1, 9);
  }
  EXPECT_FALSE(tally.is_unbalanced());
}

TEST(TargetTally, FindsTargetsFarLargerThanTheOutputsAfterThreeEpochs) {
  TargetTally tally;
  take_pairs(tally, 3e3, 2e5, 2);
  EXPECT_FALSE(tally.are_far_larger());
  take_pairs(tally, 3e3, 2e5, 1);
  EXPECT_TRUE(tally.are_far_larger());
  EXPECT_DOUBLE_EQ(tally.target_size(), 2e5);
  EXPECT_DOUBLE_EQ(tally.output_size(), 3e3);
  take_pairs(tally, 1.5e5, 2e5, 1);
  EXPECT_FALSE(tally.are_far_larger()) << "the outputs have reached them";
}

TEST(TargetTally, FindsTargetsAThousandTimesLargerInAFewLooksOfTheSecondEpoch) {
  TargetTally stuck, learns;
  for (TargetTally* tally : {&stuck, &learns}) take_pairs(*tally, 3, 2e5, 1);
  EXPECT_FALSE(stuck.are_far_larger()) << "one epoch is too early";
  take_pairs(stuck, 9, 2e5, 1, 2);
  EXPECT_TRUE(stuck.are_far_larger());
  EXPECT_DOUBLE_EQ(stuck.output_size(), 9);
  take_pairs(learns, 900, 2e5, 1, 2);
  EXPECT_FALSE(learns.are_far_larger()) << "the outputs grow fast";
}

TEST(TargetTally, ReportsNothingForTargetsOfUsualSize) {
  TargetTally tally;
  take_pairs(tally, 0.01, 20, 5);
  EXPECT_FALSE(tally.are_far_larger());
}

}  // namespace
}  // namespace loupe::health
