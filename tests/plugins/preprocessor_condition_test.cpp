#include <gtest/gtest.h>

#include <cmath>

#include "stream.h"

namespace loupe::test {
namespace {

TEST(ParameterConditionPreprocessor, DividesTheLargestSingularValueByTheSmallest) {
  PreprocessorStream stream("parameter_condition");
  stream.feed(Tensor({2, 2}, {8, 0, 0, 2}));
  EXPECT_NEAR(*stream.get("condition"), 4, 1e-9);
}

TEST(ParameterConditionPreprocessor, TakesAMatrixOfAnyShape) {
  PreprocessorStream wide("parameter_condition");
  wide.feed(Tensor({2, 3}, {0, 6, 0, 3, 0, 0}));
  EXPECT_NEAR(*wide.get("condition"), 2, 1e-9);
  PreprocessorStream tall("parameter_condition");
  tall.feed(Tensor({3, 2}, {0, 3, 6, 0, 0, 0}));
  EXPECT_NEAR(*tall.get("condition"), 2, 1e-9);
}

TEST(ParameterConditionPreprocessor, FlattensAKernelFromItsFirstDimension) {
  PreprocessorStream stream("parameter_condition");
  stream.feed(Tensor({2, 1, 1, 2}, {5, 0, 0, 1}));
  EXPECT_NEAR(*stream.get("condition"), 5, 1e-9);
}

TEST(ParameterConditionPreprocessor, CountsASingularMatrixAsInfinite) {
  PreprocessorStream stream("parameter_condition");
  stream.feed(Tensor({2, 2}, {1, 0, 0, 0}));
  stream.feed(Tensor({2, 2}, {1, 0, 0, 1}));
  EXPECT_EQ(stream.get("condition", Aggregate::inf_count), 1);
  EXPECT_NEAR(*stream.get("condition"), 1, 1e-9);
}

TEST(ParameterConditionPreprocessor, CountsAMatrixOfZerosAsInfinite) {
  PreprocessorStream stream("parameter_condition");
  stream.feed(Tensor({2, 2}, {0, 0, 0, 0}));
  EXPECT_EQ(stream.get("condition", Aggregate::inf_count), 1);
  EXPECT_EQ(stream.get("condition", Aggregate::nan_count), 0);
}

TEST(ParameterConditionPreprocessor, CountsNanInsteadOfDecomposingIt) {
  PreprocessorStream stream("parameter_condition");
  stream.feed(Tensor({2, 2}, {INFINITY, 0, NAN, 1}));
  stream.feed(Tensor({2, 2}, {INFINITY, 0, 0, 1}));
  EXPECT_EQ(stream.get("condition", Aggregate::nan_count), 1);
  EXPECT_EQ(stream.get("condition", Aggregate::inf_count), 1);
}

TEST(ParameterConditionPreprocessor, PassesOverVectorsAndEmptyTensors) {
  PreprocessorStream stream("parameter_condition");
  stream.feed(Tensor({3}, {1, 2, 3}));
  stream.feed(Tensor({0, 3}, {}));
  EXPECT_FALSE(stream.get("condition"));
}

TEST(ParameterConditionPreprocessor, AsksForTheTensorItself) {
  EXPECT_EQ(PreprocessorStream("parameter_condition").request().flags, LOUPE_REQUEST_TENSORS);
}

}  // namespace
}  // namespace loupe::test
