#include "built_in.h"

namespace {

class LearningRateLens : public testing::Test {
 protected:
  LensBench bench_{"learning_rate", "{momentum: true, log_scale: true}"};
  void step_with(const char* type, double rate, double momentum = NAN) {
    bench_.optimizer(type, rate, momentum);
    bench_.step();
  }
  std::optional<double> rate(const char* line) {
    bench_.tick();
    return bench_.number("Learning Rate", "", line);
  }
};

TEST_F(LearningRateLens, ShowsTheRateThatTheLastStepWasTakenWith) {
  step_with("Adam", 0.1);
  bench_.optimizer("Adam", 0.05);  // set by a schedule for the next epoch
  EXPECT_EQ(rate("Adam"), 0.1);
  EXPECT_FALSE(bench_.has_band("Learning Rate", "", "Adam min"));
  bench_.step();
  EXPECT_EQ(rate("Adam"), 0.05);
}

TEST_F(LearningRateLens, ShowsABandWhereItChangedWithinTheEpochAndForgetsItAfterwards) {
  for (const double now : {0.1, 0.4, 0.2}) step_with("SGD", now);
  EXPECT_EQ(rate("SGD"), 0.2);
  EXPECT_EQ(bench_.band("Learning Rate", "", "SGD min"), std::pair(0.1, 0.4));
  bench_.step();
  bench_.tick();
  EXPECT_FALSE(bench_.has_band("Learning Rate", "", "SGD min"));
}

TEST_F(LearningRateLens, ShowsWhatIsSetInAnEpochWithoutSteps) {
  step_with("SGD", 0.1);
  bench_.tick();
  bench_.optimizer("SGD", 0.3);
  EXPECT_EQ(rate("SGD"), 0.3);
}

TEST_F(LearningRateLens, ShowsMomentumByOptionAndOnlyWhatTheOptimizerHas) {
  step_with("Own", NAN, 0.9);
  EXPECT_FALSE(rate("Own"));
  EXPECT_TRUE(bench_.tag("Learning Rate").big);
  EXPECT_TRUE(bench_.tag("Learning Rate").log_y);
  EXPECT_EQ(bench_.number("Momentum", "", "Own"), 0.9);
  step_with("Adam", 0.1, 0.8);  // Adam's momentum is its first beta
  bench_.tick();
  EXPECT_EQ(bench_.number("Momentum", "", "Adam"), 0.8);
}

TEST_F(LearningRateLens, ShowsNothingWithoutAnOptimizerAndNoMomentumByDefault) {
  bench_.step();
  bench_.tick();
  EXPECT_TRUE(bench_.is_silent());
  LensBench plain("learning_rate");
  plain.optimizer("SGD", 0.1, 0.9);
  plain.step();
  plain.tick();
  EXPECT_EQ(plain.tags(), Names{"Learning Rate"});
}

}  // namespace
