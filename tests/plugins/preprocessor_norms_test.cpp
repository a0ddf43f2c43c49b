#include <gtest/gtest.h>

#include <cmath>

#include "stream.h"

namespace loupe::test {
namespace {

TEST(OutputNormPreprocessor, TakesTheMeanOfTheSamplesNorms) {
  PreprocessorStream stream("output_norm");
  stream.feed(Tensor({2, 2}, {3, 4, 0, 1}));
  EXPECT_DOUBLE_EQ(*stream.get("norm"), (5.0 + 1.0) / 2);
}

TEST(OutputNormPreprocessor, FlattensASamplesOwnDimensions) {
  PreprocessorStream stream("output_norm");
  stream.feed(Tensor({1, 2, 2, 1}, {1, 1, 1, 1}));
  EXPECT_DOUBLE_EQ(*stream.get("norm"), 2);
}

TEST(OutputNormPreprocessor, DividesByTheRootOfASamplesSizeWhenToldTo) {
  PreprocessorStream stream("output_norm", "{normalize: true}");
  stream.feed(Tensor({2, 4}, {2, 2, 2, 2, 4, 4, 4, 4}));
  EXPECT_DOUBLE_EQ(*stream.get("norm"), 3);
}

TEST(OutputNormPreprocessor, WeighsASmallerLastBatchAsOneEvent) {
  PreprocessorStream stream("output_norm", "{inplace: false}");
  stream.feed(Tensor({2, 1}, {1, 3}));
  stream.feed(Tensor({1, 1}, {8}));
  EXPECT_EQ(stream.values("norm"), (std::vector<double>{2, 8}));
}

TEST(OutputNormPreprocessor, PassesOverEvaluationUnlessToldToRecordIt) {
  PreprocessorStream training("output_norm");
  EXPECT_FALSE(training.feed(Tensor({1, 1}, {1}), kEvaluation));
  PreprocessorStream both("output_norm", "{record_eval: true}");
  EXPECT_TRUE(both.feed(Tensor({1, 1}, {1}), kEvaluation));
  PreprocessorStream by_gradients("output_norm", "{evaluation_from_grad: true}");
  EXPECT_FALSE(by_gradients.feed(Tensor({1, 1}, {1}), LOUPE_EVENT_TRAINING));
}

TEST(OutputNormPreprocessor, CountsNanAndInfAndPassesOverEmptyTensors) {
  PreprocessorStream stream("output_norm");
  stream.feed(Tensor({2, 1}, {NAN, 1}));
  stream.feed(Tensor({2, 1}, {INFINITY, 1}));
  stream.feed(Tensor({0, 1}, {}));
  stream.feed(Tensor({2, 1}, {1, 1}));
  EXPECT_DOUBLE_EQ(*stream.get("norm"), 1);
  EXPECT_EQ(stream.get("norm", Aggregate::nan_count), 1);
  EXPECT_EQ(stream.get("norm", Aggregate::inf_count), 1);
}

TEST(ParameterNormPreprocessor, TakesTheNormOfTheWholeTensor) {
  PreprocessorStream stream("parameter_norm");
  stream.feed(Tensor({2, 2}, {1, -1, 1, 1}));
  EXPECT_DOUBLE_EQ(*stream.get("norm"), 2);
  EXPECT_DOUBLE_EQ(*stream.get("norm", Aggregate::count), 1);
}

TEST(ParameterNormPreprocessor, DividesByTheRootOfItsSizeWhenToldTo) {
  PreprocessorStream stream("parameter_norm", "{normalize: true}");
  stream.feed(Tensor({2, 2}, {3, -3, 3, 3}));
  EXPECT_DOUBLE_EQ(*stream.get("norm"), 3);
}

TEST(ParameterNormPreprocessor, CountsNanAndInfAndPassesOverEmptyTensors) {
  PreprocessorStream stream("parameter_norm", "{inplace: false}");
  stream.feed(Tensor({2}, {NAN, INFINITY}));
  stream.feed(Tensor({2}, {INFINITY, 1}));
  stream.feed(Tensor({0}, {}));
  EXPECT_TRUE(stream.values("norm").empty());
  EXPECT_EQ(stream.get("norm", Aggregate::nan_count), 1);
  EXPECT_EQ(stream.get("norm", Aggregate::inf_count), 1);
}

}  // namespace
}  // namespace loupe::test
