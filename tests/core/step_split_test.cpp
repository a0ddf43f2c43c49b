#include "timing/step_split.h"

#include <gtest/gtest.h>

namespace loupe {
namespace {

/// A split on a clock of its own, which each call moves on by so many seconds before it.
struct Made {
  Made() { split.begin(now); }
  double after(double seconds) { return now += seconds; }
  double of(StepPart part) const { return split.of(part); }
  double sum() const {
    double all = 0;
    for (std::size_t i = 0; i < step_parts; ++i) all += split.of(static_cast<StepPart>(i));
    return all;
  }

  double now = 100;
  StepSplit split;
};

TEST(StepSplit, GivesEachPartOfAPlainStepItsTimeAndAddsUpToIt) {
  Made it;
  it.split.enter_forward(0, true, it.after(5));  // 5 s for the data
  it.split.leave_forward(it.after(2));
  it.split.enter_forward(1, true, it.after(0.5));  // a function between two layers
  it.split.leave_forward(it.after(1));
  it.split.enter_node(1, it.after(0.25));  // the loss
  it.split.leave_node(it.after(2));
  it.split.enter_node(0, it.after(0.25));
  it.split.leave_node(it.after(4));
  it.split.enter_optimizer(it.after(1));  // clipping
  it.split.leave_optimizer(it.after(3));
  const double seconds = it.split.end(it.after(0.5));

  EXPECT_DOUBLE_EQ(it.of(StepPart::waiting), 5);
  EXPECT_DOUBLE_EQ(it.of(StepPart::forward), 3.5);
  EXPECT_DOUBLE_EQ(it.of(StepPart::backward), 6.5);
  EXPECT_DOUBLE_EQ(it.of(StepPart::optimizer), 3);
  EXPECT_DOUBLE_EQ(it.of(StepPart::other), 1.5);
  EXPECT_DOUBLE_EQ(it.of(StepPart::loupe), 0);
  EXPECT_DOUBLE_EQ(it.sum(), seconds);
}

TEST(StepSplit, TakesChildrenAndLoupeOutOfALayersOwnTime) {
  Made it;
  it.split.enter_forward(0, true, it.after(0));
  it.split.enter_loupe(it.after(1));
  it.split.enter_loupe(it.after(2));  // a hook within another
  it.split.leave_loupe(it.after(4));
  it.split.leave_loupe(it.after(8));
  it.split.enter_forward(1, true, it.after(16));
  it.split.leave_forward(it.after(32));
  it.split.leave_forward(it.after(64));
  it.split.enter_node(1, it.after(0));
  it.split.enter_loupe(it.after(3));
  it.split.leave_loupe(it.after(5));
  it.split.leave_node(it.after(7));
  const double seconds = it.split.end(it.now);

  EXPECT_DOUBLE_EQ(it.split.layers()[0].forward, 1 + 16 + 64);
  EXPECT_DOUBLE_EQ(it.split.layers()[1].forward, 32);
  EXPECT_DOUBLE_EQ(it.split.layers()[1].backward, 10);
  EXPECT_EQ(it.split.layers()[0].calls, 1U);
  EXPECT_DOUBLE_EQ(it.of(StepPart::loupe), 14 + 5);
  EXPECT_DOUBLE_EQ(it.sum(), seconds);
}

TEST(StepSplit, DoesNotTakeActingOrEvaluationForWaiting) {
  Made it;
  it.split.enter_forward(0, false, it.after(1));  // before an agent acts
  it.split.leave_forward(it.after(2));
  it.split.enter_forward(0, false, it.after(4));  // its world
  it.split.leave_forward(it.after(2));
  it.split.enter_forward(0, true, it.after(4));
  it.split.leave_forward(it.after(8));
  it.split.enter_forward(1, false, it.after(0.5));  // what the target network says
  it.split.leave_forward(it.after(1));
  it.split.enter_node(0, it.after(0.5));
  it.split.leave_node(it.after(8));
  const double seconds = it.split.end(it.now);

  EXPECT_DOUBLE_EQ(it.of(StepPart::waiting), 0);
  EXPECT_DOUBLE_EQ(it.of(StepPart::forward), 8 + 0.5);
  EXPECT_DOUBLE_EQ(it.of(StepPart::backward), 8 + 0.5);
  EXPECT_DOUBLE_EQ(it.of(StepPart::other), 1 + 2 + 4 + 2 + 4 + 1);
  EXPECT_EQ(it.split.layers()[0].calls, 1U) << "forwards that do not train are none of a layer's";
  EXPECT_DOUBLE_EQ(it.sum(), seconds);
}

TEST(StepSplit, WaitsAgainForTheNextBatchWhereGradientsAreAddedUp) {
  Made it;
  for (int batch = 0; batch < 3; ++batch) {
    it.split.enter_forward(0, true, it.after(2));
    it.split.leave_forward(it.after(1));
    it.split.enter_node(0, it.after(0));
    it.split.leave_node(it.after(1));
  }
  it.split.enter_optimizer(it.after(0));
  it.split.leave_optimizer(it.after(1));
  const double seconds = it.split.end(it.now);
  EXPECT_DOUBLE_EQ(it.of(StepPart::waiting), 6);
  EXPECT_DOUBLE_EQ(it.sum(), seconds);
}

TEST(StepSplit, KeepsWhatAClosureDoesWithinTheOptimizersStep) {
  Made it;
  it.split.enter_optimizer(it.after(1));
  for (int i = 0; i < 2; ++i) {
    it.split.enter_forward(0, true, it.after(1));  // the optimizer's own work
    it.split.leave_forward(it.after(2));
    it.split.enter_node(0, it.after(0));
    it.split.leave_node(it.after(4));
  }
  it.split.leave_optimizer(it.after(1));
  const double seconds = it.split.end(it.now);
  EXPECT_DOUBLE_EQ(it.of(StepPart::optimizer), 3);
  EXPECT_DOUBLE_EQ(it.of(StepPart::forward), 4);
  EXPECT_DOUBLE_EQ(it.of(StepPart::backward), 8);
  EXPECT_DOUBLE_EQ(it.sum(), seconds);
}

TEST(StepSplit, SeesABackwardPassThatOtherThreadsRun) {
  Made it;
  it.split.enter_forward(0, true, it.after(1));
  it.split.leave_forward(it.after(1));
  it.split.note_elsewhere(it.now + 3);
  it.split.enter_optimizer(it.after(4));
  it.split.leave_optimizer(it.after(1));
  const double seconds = it.split.end(it.now);
  EXPECT_DOUBLE_EQ(it.of(StepPart::backward), 3);
  EXPECT_DOUBLE_EQ(it.of(StepPart::other), 1);
  EXPECT_DOUBLE_EQ(it.sum(), seconds);
}

TEST(StepSplit, CountsWhatIsComputedAgainInABackwardPassAsBackward) {
  Made it;
  it.split.enter_node(-1, it.after(0));
  it.split.enter_forward(0, true, it.after(1));
  it.split.leave_forward(it.after(2));
  it.split.leave_node(it.after(4));
  it.split.end(it.now);
  EXPECT_DOUBLE_EQ(it.of(StepPart::backward), 7);
  EXPECT_DOUBLE_EQ(it.split.layers()[0].backward, 2);
  EXPECT_DOUBLE_EQ(it.split.layers()[0].forward, 0);
}

TEST(StepSplit, TakesAStepThatBeginsInTheMiddleOfSomething) {
  Made it;
  it.split.leave_forward(it.after(1));
  it.split.leave_node(it.after(1));
  it.split.leave_optimizer(it.after(1));
  it.split.leave_loupe(it.after(1));
  EXPECT_DOUBLE_EQ(it.split.end(it.after(1)), 5);
  EXPECT_DOUBLE_EQ(it.sum(), 5);
  it.split.begin(it.now);
  EXPECT_DOUBLE_EQ(it.split.end(it.after(2)), 2);
  EXPECT_DOUBLE_EQ(it.sum(), 2) << "nothing is left of the step before";
}

}  // namespace
}  // namespace loupe
