#include <gtest/gtest.h>

#include <cmath>

#include "stream.h"

namespace loupe::test {
namespace {

// A batch of 2 with 3 units: unit 0 is active in both, unit 1 in one, unit 2 in none.
const Tensor kBatch({2, 3}, {1, 0, 0, 2, -3, 0});

TEST(OutputActivationPreprocessor, TakesTheShareOfActiveEntries) {
  PreprocessorStream stream("output_activation");
  stream.feed(kBatch);
  EXPECT_DOUBLE_EQ(*stream.get("activation"), 3.0 / 6);
}

TEST(OutputActivationPreprocessor, CountsAUnitDeadOnlyIfSilentInTheWholeBatch) {
  PreprocessorStream stream("output_activation");
  stream.feed(kBatch);
  EXPECT_DOUBLE_EQ(*stream.get("death"), 1.0 / 3);
}

TEST(OutputActivationPreprocessor, CountsAChannelOverItsWholeImage) {
  PreprocessorStream stream("output_activation");
  stream.feed(Tensor({2, 2, 1, 2}, {0, 0, 0, 5, 0, 0, 0, 0}));
  EXPECT_DOUBLE_EQ(*stream.get("activation"), 1.0 / 8);
  EXPECT_DOUBLE_EQ(*stream.get("death"), 1.0 / 2);
}

TEST(OutputActivationPreprocessor, CountsUnitsAlongTheLastDimensionWhenChannelsAreLast) {
  const Tensor sequence({1, 2, 3}, {1, 0, 0, 1, 1, 0});  // 2 steps of 3 features, of which the last is silent
  PreprocessorStream first("output_activation");
  PreprocessorStream last("output_activation", "{channel_last: true}");
  first.feed(sequence);
  last.feed(sequence);
  EXPECT_DOUBLE_EQ(*first.get("death"), 0);
  EXPECT_DOUBLE_EQ(*last.get("death"), 1.0 / 3);
}

TEST(OutputActivationPreprocessor, AveragesOverAnEpochAndStartsAnewAfterIt) {
  PreprocessorStream stream("output_activation");
  stream.feed(Tensor({1, 2}, {1, 1}));
  stream.feed(Tensor({1, 2}, {0, 1}));
  EXPECT_DOUBLE_EQ(*stream.get("activation"), 0.75);
  stream.reset();
  EXPECT_FALSE(stream.get("activation"));
  stream.feed(Tensor({1, 2}, {0, 1}));
  EXPECT_DOUBLE_EQ(*stream.get("activation"), 0.5);
}

TEST(OutputActivationPreprocessor, TakesEpsAsTheLargestSilentMagnitude) {
  PreprocessorStream stream("output_activation", "{eps: 0.5}");
  stream.feed(Tensor({1, 4}, {0.5f, -0.5f, 0.75f, -0.75f}));
  EXPECT_DOUBLE_EQ(*stream.get("activation"), 0.5);
}

TEST(OutputActivationPreprocessor, LeavesDeathOutWhenToldTo) {
  PreprocessorStream stream("output_activation", "{death: false}");
  stream.feed(kBatch);
  EXPECT_EQ(stream.series(), std::vector<std::string>{"activation"});
}

TEST(OutputActivationPreprocessor, PassesOverEvaluationUnlessToldToRecordIt) {
  PreprocessorStream training("output_activation");
  EXPECT_FALSE(training.feed(kBatch, kEvaluation));
  EXPECT_FALSE(training.get("activation"));
  PreprocessorStream both("output_activation", "{record_eval: true}");
  EXPECT_TRUE(both.feed(kBatch, kEvaluation));
  EXPECT_TRUE(both.feed(kBatch, kTraining));
}

TEST(OutputActivationPreprocessor, TellsEvaluationByGradientsWhenToldTo) {
  PreprocessorStream by_mode("output_activation");
  EXPECT_TRUE(by_mode.feed(kBatch, LOUPE_EVENT_TRAINING));
  PreprocessorStream by_gradients("output_activation", "{evaluation_from_grad: true}");
  EXPECT_FALSE(by_gradients.feed(kBatch, LOUPE_EVENT_TRAINING));
  EXPECT_TRUE(by_gradients.feed(kBatch, LOUPE_EVENT_GRAD_ENABLED));
}

TEST(OutputActivationPreprocessor, CountsNanAndInfInsteadOfAveragingThem) {
  PreprocessorStream stream("output_activation");
  stream.feed(Tensor({1, 2}, {NAN, 1}));
  stream.feed(Tensor({1, 2}, {INFINITY, 1}));
  stream.feed(Tensor({1, 2}, {0, 1}));
  for (const char* series : {"activation", "death"}) {
    EXPECT_DOUBLE_EQ(*stream.get(series), 0.5) << series;
    EXPECT_EQ(stream.get(series, Aggregate::nan_count), 1) << series;
    EXPECT_EQ(stream.get(series, Aggregate::inf_count), 1) << series;
  }
}

TEST(OutputActivationPreprocessor, MakesNothingOfAnEmptyTensor) {
  PreprocessorStream stream("output_activation");
  stream.feed(Tensor({0, 3}, {}));
  EXPECT_FALSE(stream.get("activation"));
  EXPECT_FALSE(stream.get("death"));
}

TEST(OutputActivationPreprocessor, KeepsValuesOrQuantilesAsTold) {
  PreprocessorStream running("output_activation");
  PreprocessorStream sketched("output_activation", "{quantiles: true}");
  PreprocessorStream kept("output_activation", "{inplace: false}");
  for (PreprocessorStream* stream : {&running, &sketched, &kept}) {
    stream->feed(Tensor({1, 2}, {1, 1}));
    stream->feed(Tensor({1, 2}, {0, 1}));
    stream->feed(Tensor({1, 2}, {0, 0}));
  }
  EXPECT_THROW(running.get("activation", Aggregate::median), Error);
  EXPECT_DOUBLE_EQ(*sketched.get("activation", Aggregate::median), 0.5);
  EXPECT_THROW(sketched.values("activation"), Error);
  EXPECT_EQ(kept.values("activation"), (std::vector<double>{1, 0.5, 0}));
}

TEST(GradientActivationPreprocessor, CountsUnitsAlongTheFirstDimension) {
  PreprocessorStream stream("gradient_activation");
  stream.feed(Tensor({3, 2}, {0, 0, 1, 0, 1, 1}));
  EXPECT_DOUBLE_EQ(*stream.get("activation"), 0.5);
  EXPECT_DOUBLE_EQ(*stream.get("death"), 1.0 / 3);
}

TEST(GradientActivationPreprocessor, TakesEachElementOfAVectorAsAUnit) {
  PreprocessorStream stream("gradient_activation");
  stream.feed(Tensor({4}, {0, 0, 1, 0}));
  EXPECT_DOUBLE_EQ(*stream.get("activation"), 0.25);
  EXPECT_DOUBLE_EQ(*stream.get("death"), 0.75);
}

TEST(GradientActivationPreprocessor, LooksAtGradientsWhateverTheMode) {
  PreprocessorStream stream("gradient_activation");
  EXPECT_TRUE(stream.feed(Tensor({1}, {1}), kEvaluation));
}

}  // namespace
}  // namespace loupe::test
