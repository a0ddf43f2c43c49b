#include <gtest/gtest.h>

#include <cmath>

#include "stream.h"

namespace loupe::test {
namespace {

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-6) << "value " << i;
}

// gradient_geometry and output_gradient_geometry differ in what they are put behind, not in what they compute.
class TensorGeometry : public testing::TestWithParam<const char*> {
 protected:
  PreprocessorStream stream_{GetParam(), "{inplace: false}"};
};

TEST_P(TensorGeometry, TakesTheNorm) {
  stream_.feed(Tensor({2}, {3, 4}));
  EXPECT_EQ(stream_.values("norm"), std::vector<double>{5});
}

TEST_P(TensorGeometry, DividesByTheRootOfTheSizeWhenToldTo) {
  PreprocessorStream stream(GetParam(), "{normalize: true}");
  stream.feed(Tensor({4}, {2, -2, 2, 2}));
  EXPECT_DOUBLE_EQ(*stream.get("norm"), 2);
}

TEST_P(TensorGeometry, CorrelatesWithTheEventBefore) {
  stream_.feed(Tensor({2}, {1, 0}));
  stream_.feed(Tensor({2}, {2, 0}));
  stream_.feed(Tensor({2}, {0, 3}));
  stream_.feed(Tensor({2}, {0, -1}));
  stream_.feed(Tensor({2}, {1, -1}));
  expect_near(stream_.values("correlation"), {1, 0, -1, std::sqrt(0.5)});
}

TEST_P(TensorGeometry, HasNoCorrelationAtTheFirstEvent) {
  stream_.feed(Tensor({2}, {1, 0}));
  EXPECT_FALSE(stream_.get("correlation"));
}

TEST_P(TensorGeometry, CountsTheFirstCorrelationAsZeroWhenToldTo) {
  PreprocessorStream stream(GetParam(), "{inplace: false, first: true}");
  stream.feed(Tensor({2}, {1, 0}));
  stream.feed(Tensor({2}, {1, 0}));
  expect_near(stream.values("correlation"), {0, 1});
}

TEST_P(TensorGeometry, CorrelatesTinyTensorsAsItDoesLargeOnes) {
  stream_.feed(Tensor({2}, {4e-9F, 3e-9F}));
  stream_.feed(Tensor({2}, {3e-9F, 4e-9F}));
  expect_near(stream_.values("correlation"), {0.96});
}

TEST_P(TensorGeometry, CarriesCorrelationOverATick) {
  stream_.feed(Tensor({2}, {1, 0}));
  stream_.reset();
  stream_.feed(Tensor({2}, {-1, 0}));
  expect_near(stream_.values("correlation"), {-1});
}

TEST_P(TensorGeometry, HasNoCorrelationWithWhatIsZero) {
  stream_.feed(Tensor({2}, {1, 0}));
  stream_.feed(Tensor({2}, {0, 0}));
  stream_.feed(Tensor({2}, {0, 0}));
  stream_.feed(Tensor({2}, {1, 0}));
  EXPECT_EQ(stream_.values("norm").size(), 4U);
  EXPECT_FALSE(stream_.get("correlation"));
}

TEST_P(TensorGeometry, AddsEpsToWhatACorrelationIsDividedBy) {
  PreprocessorStream stream(GetParam(), "{inplace: false, eps: 1}");
  stream.feed(Tensor({1}, {1}));
  stream.feed(Tensor({1}, {1}));
  EXPECT_EQ(stream.values("correlation"), std::vector<double>{0.5});
}

TEST_P(TensorGeometry, AsksForNoHistoryWithoutCorrelation) {
  PreprocessorStream stream(GetParam(), "{correlation: false}");
  EXPECT_EQ(stream.request().measures, static_cast<uint32_t>(LOUPE_MEASURE_SUMS));
  stream.feed(Tensor({1}, {1}));
  EXPECT_EQ(stream.series(), std::vector<std::string>{"norm"});
}

TEST_P(TensorGeometry, HasNoCorrelationAcrossAChangeOfShape) {
  stream_.feed(Tensor({2}, {1, 1}));
  stream_.feed(Tensor({3}, {1, 1, 1}));
  stream_.feed(Tensor({3}, {1, 1, 1}));
  EXPECT_EQ(stream_.values("norm").size(), 3u);
  expect_near(stream_.values("correlation"), {1});
}

TEST_P(TensorGeometry, CountsAnEventWithNanAndComparesNothingWithIt) {
  stream_.feed(Tensor({2}, {1, 1}));
  stream_.feed(Tensor({2}, {NAN, 1}));
  stream_.feed(Tensor({2}, {1, 1}));
  stream_.feed(Tensor({2}, {1, 1}));
  expect_near(stream_.values("norm"), {std::sqrt(2.0), std::sqrt(2.0), std::sqrt(2.0)});
  expect_near(stream_.values("correlation"), {1});
  EXPECT_EQ(stream_.get("norm", Aggregate::nan_count), 1);
  EXPECT_EQ(stream_.get("correlation", Aggregate::nan_count), 1);
}

TEST_P(TensorGeometry, CountsAnEventWithInf) {
  stream_.feed(Tensor({2}, {-INFINITY, 1}));
  EXPECT_EQ(stream_.get("norm", Aggregate::inf_count), 1);
  EXPECT_TRUE(stream_.values("norm").empty());
}

TEST_P(TensorGeometry, MakesNothingOfAnEmptyTensor) {
  stream_.feed(Tensor({0}, {}));
  EXPECT_FALSE(stream_.get("norm"));
  stream_.feed(Tensor({1}, {1}));
  stream_.feed(Tensor({1}, {1}));
  expect_near(stream_.values("correlation"), {1});
}

INSTANTIATE_TEST_SUITE_P(Both, TensorGeometry, testing::Values("gradient_geometry", "output_gradient_geometry"),
                         [](const auto& info) { return std::string(info.param); });

class ParameterDifferenceGeometry : public testing::Test {
 protected:
  PreprocessorStream stream_{"parameter_difference_geometry", "{inplace: false}"};
};

TEST_F(ParameterDifferenceGeometry, SaysNothingAtTheFirstCall) {
  stream_.feed(Tensor({2}, {1, 1}));
  EXPECT_FALSE(stream_.get("norm"));
  EXPECT_FALSE(stream_.get("correlation"));
}

TEST_F(ParameterDifferenceGeometry, TakesTheNormOfTheChange) {
  stream_.feed(Tensor({2}, {1, 1}));
  stream_.feed(Tensor({2}, {4, 5}));
  EXPECT_EQ(stream_.values("norm"), std::vector<double>{5});
}

TEST_F(ParameterDifferenceGeometry, SeesTheFirstStepWhenGivenABaseline) {
  stream_.prime(Tensor({2}, {1, 1}));
  stream_.feed(Tensor({2}, {4, 5}));
  EXPECT_EQ(stream_.values("norm"), std::vector<double>{5});
  EXPECT_FALSE(stream_.get("correlation"));
}

TEST_F(ParameterDifferenceGeometry, CountsTheFirstCorrelationAsZeroWhenToldTo) {
  PreprocessorStream stream("parameter_difference_geometry", "{inplace: false, first: true}");
  stream.prime(Tensor({2}, {0, 0}));
  stream.feed(Tensor({2}, {1, 0}));
  stream.feed(Tensor({2}, {2, 0}));
  expect_near(stream.values("correlation"), {0, 1});
}

TEST_F(ParameterDifferenceGeometry, CorrelatesTheUpdatesOfASmallLearningRate) {
  stream_.prime(Tensor({2}, {0, 0}));
  stream_.feed(Tensor({2}, {4e-7F, 3e-7F}));
  stream_.feed(Tensor({2}, {7e-7F, 7e-7F}));
  expect_near(stream_.values("correlation"), {0.96});
}

TEST_F(ParameterDifferenceGeometry, CorrelatesWithTheChangeBeforeAlsoOverATick) {
  stream_.prime(Tensor({2}, {0, 0}));
  stream_.feed(Tensor({2}, {1, 0}));
  stream_.feed(Tensor({2}, {3, 0}));
  expect_near(stream_.values("correlation"), {1});
  stream_.reset();
  stream_.feed(Tensor({2}, {2, 0}));
  stream_.feed(Tensor({2}, {2, 7}));
  expect_near(stream_.values("correlation"), {-1, 0});
}

TEST_F(ParameterDifferenceGeometry, ShowsAFrozenParameterAsUnchanged) {
  stream_.prime(Tensor({2}, {1, 2}));
  stream_.feed(Tensor({2}, {1, 2}));
  stream_.feed(Tensor({2}, {1, 2}));
  EXPECT_EQ(stream_.values("norm"), (std::vector<double>{0, 0}));
  EXPECT_FALSE(stream_.get("correlation"));
}

TEST_F(ParameterDifferenceGeometry, DividesByTheRootOfTheSizeWhenToldTo) {
  PreprocessorStream stream("parameter_difference_geometry", "{normalize: true, correlation: false}");
  stream.prime(Tensor({4}, {0, 0, 0, 0}));
  stream.feed(Tensor({4}, {2, 2, 2, 2}));
  EXPECT_DOUBLE_EQ(*stream.get("norm"), 2);
  EXPECT_EQ(stream.series(), std::vector<std::string>{"norm"});
  EXPECT_EQ(stream.request().measures, static_cast<uint32_t>(LOUPE_MEASURE_CHANGE));
}

TEST_F(ParameterDifferenceGeometry, StartsAnewAfterAChangeOfShape) {
  stream_.prime(Tensor({1}, {0}));
  stream_.feed(Tensor({1}, {1}));
  stream_.feed(Tensor({2}, {5, 5}));
  EXPECT_EQ(stream_.values("norm").size(), 1u);
  stream_.feed(Tensor({2}, {5, 6}));
  stream_.feed(Tensor({2}, {5, 8}));
  EXPECT_EQ(stream_.values("norm"), (std::vector<double>{1, 1, 2}));
  expect_near(stream_.values("correlation"), {1});
}

TEST_F(ParameterDifferenceGeometry, CountsNanAndTakesNoChangeFromIt) {
  stream_.prime(Tensor({1}, {0}));
  stream_.feed(Tensor({1}, {1}));
  stream_.feed(Tensor({1}, {NAN}));
  stream_.feed(Tensor({1}, {2}));
  EXPECT_EQ(stream_.values("norm"), std::vector<double>{1});
  stream_.feed(Tensor({1}, {3}));
  stream_.feed(Tensor({1}, {4}));
  EXPECT_EQ(stream_.values("norm"), (std::vector<double>{1, 1, 1}));
  expect_near(stream_.values("correlation"), {1});
  EXPECT_EQ(stream_.get("norm", Aggregate::nan_count), 1);
}

TEST_F(ParameterDifferenceGeometry, MakesNothingOfAnEmptyTensor) {
  stream_.feed(Tensor({0}, {}));
  stream_.feed(Tensor({0}, {}));
  EXPECT_FALSE(stream_.get("norm"));
}

}  // namespace
}  // namespace loupe::test
