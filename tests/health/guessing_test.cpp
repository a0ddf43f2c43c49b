#include "health/rules/guessing.h"

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

/// Targets are 1 and 3 in turn, so that their variance is 1.
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
  EXPECT_FALSE(guessing.is_no_better()) << "two epochs may be its beginning";
  take_cross_entropies(guessing, std::log(5.0) * 0.985, 1);
  EXPECT_TRUE(guessing.is_no_better());
  EXPECT_EQ(guessing.text(), "guessing among 5 classes gives 1.61");
  take_cross_entropies(guessing, std::log(5.0) * 0.975, 1);
  EXPECT_FALSE(guessing.is_no_better());
}

TEST(Guessing, IsNotJudgedByAFewSteps) {
  Guessing guessing;
  take_cross_entropies(guessing, std::log(5.0), 10, looks_of_an_epoch / 4);
  EXPECT_FALSE(guessing.is_no_better()) << "20 looks are two times eight";
  take_cross_entropies(guessing, std::log(5.0), 2, looks_of_an_epoch / 4);
  EXPECT_TRUE(guessing.is_no_better());
}

TEST(Guessing, IsWhatTheMeanOfTheTargetsDoes) {
  Guessing guessing;
  take_squares(guessing, 1.0, 3);
  EXPECT_TRUE(guessing.is_no_better());
  EXPECT_EQ(guessing.text(), "the mean of the targets as a constant answer gives 1");
  take_squares(guessing, 0.9, 1);
  EXPECT_FALSE(guessing.is_no_better());
}

TEST(Guessing, ComparesACrossEntropyAloneWhereThereAreBoth) {
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

TEST(Guessing, NeedsTargetsThatDiffer) {
  Guessing guessing;
  for (int look = 0; look < 40; ++look) {
    guessing.take_pair(2, 1e6);
    guessing.take_look();
    if (look % looks_of_an_epoch == 7) guessing.end_epoch();
  }
  EXPECT_FALSE(guessing.is_no_better());
}

}  // namespace
}  // namespace loupe::health
