#include "built_in.h"

#include <loupe/error.h>

#include <string>

namespace {

using loupe::Aggregate;
using Values = std::vector<double>;

void expect_near(const Values& actual, const Values& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-6) << "value " << i;
}

// A batch of 2 samples with 3 units: unit 0 is active in both samples, unit 1 in one, unit 2 in none.
const lt::Tensor batch = tensor({1, 0, 0, 2, -3, 0}, {2, 3});

TEST(OutputActivationPreprocessor, TakesTheShareOfActiveEntriesAndOfUnitsThatAreSilentInTheWholeBatch) {
  Stream stream("output_activation");
  stream.feed(batch);
  EXPECT_DOUBLE_EQ(*stream.get("activation"), 3.0 / 6);
  EXPECT_DOUBLE_EQ(*stream.get("death"), 1.0 / 3);
}

TEST(OutputActivationPreprocessor, CountsAChannelOverItsWholeImage) {
  Stream stream("output_activation");
  stream.feed(tensor({0, 0, 0, 5, 0, 0, 0, 0}, {2, 2, 1, 2}));
  EXPECT_DOUBLE_EQ(*stream.get("activation"), 1.0 / 8);
  EXPECT_DOUBLE_EQ(*stream.get("death"), 1.0 / 2);
}

TEST(OutputActivationPreprocessor, CountsUnitsAlongTheLastDimensionWhenChannelsAreLast) {
  const lt::Tensor sequence =
      tensor({1, 0, 0, 1, 1, 0}, {1, 2, 3});  // 2 steps of 3 features; the last feature is silent
  Stream first("output_activation"), last("output_activation", {{"channel_last", true}});
  first.feed(sequence);
  last.feed(sequence);
  EXPECT_DOUBLE_EQ(*first.get("death"), 0);
  EXPECT_DOUBLE_EQ(*last.get("death"), 1.0 / 3);
}

TEST(OutputActivationPreprocessor, AveragesOverAnEpochAndStartsAgainAfterIt) {
  Stream stream("output_activation");
  stream.feed(tensor({1, 1}, {1, 2}));
  stream.feed(tensor({0, 1}, {1, 2}));
  EXPECT_DOUBLE_EQ(*stream.get("activation"), 0.75);
  stream.reset();
  EXPECT_FALSE(stream.get("activation"));
  stream.feed(tensor({0, 1}, {1, 2}));
  EXPECT_DOUBLE_EQ(*stream.get("activation"), 0.5);
}

TEST(OutputActivationPreprocessor, TakesEpsAsTheLargestSilentMagnitude) {
  Stream stream("output_activation", {{"eps", 0.5}});
  stream.feed(tensor({0.5, -0.5, 0.75, -0.75}, {1, 4}));
  EXPECT_DOUBLE_EQ(*stream.get("activation"), 0.5);
}

TEST(OutputActivationPreprocessor, LeavesDeathOutByOption) {
  Stream stream("output_activation", {{"death", false}});
  stream.feed(batch);
  EXPECT_EQ(stream.series(), Names{"activation"});
}

TEST(PassOptions, LeaveEvaluationOutUnlessToldToRecordItAndTellItByGradientsWhenToldTo) {
  for (const auto& [preprocessor, series] : std::vector<std::pair<const char*, const char*>>{
           {"output_activation", "activation"}, {"output_norm", "norm"}, {"histogram", "elements"}}) {
    const auto takes = [&, preprocessor = preprocessor, series = series](const OptionValues& options, lt::Pass pass) {
      Stream stream(preprocessor, options);
      stream.feed(batch, pass);
      return stream.get(series).has_value();
    };
    EXPECT_FALSE(takes({}, lt::evaluation_pass)) << preprocessor;
    EXPECT_TRUE(takes({}, without_gradients)) << preprocessor;
    EXPECT_TRUE(takes({{"record_eval", true}}, lt::evaluation_pass)) << preprocessor;
    EXPECT_TRUE(takes({{"record_eval", true}}, lt::training_pass)) << preprocessor;
    EXPECT_FALSE(takes({{"evaluation_from_grad", true}}, without_gradients)) << preprocessor;
    EXPECT_TRUE(takes({{"evaluation_from_grad", true}}, in_eval_mode)) << preprocessor;
  }
}

TEST(OutputActivationPreprocessor, CountsNanAndInfInsteadOfAveragingThem) {
  Stream stream("output_activation");
  stream.feed(tensor({NAN, 1}, {1, 2}));
  stream.feed(tensor({INFINITY, 1}, {1, 2}));
  stream.feed(tensor({0, 1}, {1, 2}));
  for (const char* series : {"activation", "death"}) {
    EXPECT_DOUBLE_EQ(*stream.get(series), 0.5) << series;
    EXPECT_EQ(stream.get(series, Aggregate::nan_count), 1) << series;
    EXPECT_EQ(stream.get(series, Aggregate::inf_count), 1) << series;
  }
}

TEST(OutputActivationPreprocessor, IgnoresAnEmptyTensor) {
  Stream stream("output_activation");
  stream.feed(tensor({}, {0, 3}));
  EXPECT_FALSE(stream.get("activation"));
  EXPECT_FALSE(stream.get("death"));
}

TEST(OutputActivationPreprocessor, KeepsValuesOrQuantilesByOption) {
  Stream running("output_activation"), sketched("output_activation", {{"quantiles", true}}),
      kept("output_activation", {{"inplace", false}});
  for (Stream* stream : {&running, &sketched, &kept}) {
    for (const Values& values : {Values{1, 1}, Values{0, 1}, Values{0, 0}}) stream->feed(tensor(values, {1, 2}));
  }
  EXPECT_THROW(running.get("activation", Aggregate::median), loupe::Error);
  EXPECT_DOUBLE_EQ(*sketched.get("activation", Aggregate::median), 0.5);
  EXPECT_THROW(sketched.values("activation"), loupe::Error);
  EXPECT_EQ(kept.values("activation"), (Values{1, 0.5, 0}));
}

TEST(GradientActivationPreprocessor, CountsUnitsAlongTheFirstDimension) {
  Stream matrix("gradient_activation"), vector("gradient_activation");
  matrix.feed(tensor({0, 0, 1, 0, 1, 1}, {3, 2}));
  EXPECT_DOUBLE_EQ(*matrix.get("activation"), 0.5);
  EXPECT_DOUBLE_EQ(*matrix.get("death"), 1.0 / 3);
  vector.feed(tensor({0, 0, 1, 0}), lt::evaluation_pass);  // counted in every mode
  EXPECT_DOUBLE_EQ(*vector.get("activation"), 0.25);
  EXPECT_DOUBLE_EQ(*vector.get("death"), 0.75);
}

TEST(ParameterConditionPreprocessor, DividesTheLargestSingularValueByTheSmallest) {
  for (const auto& [matrix, condition] :
       std::vector<std::pair<lt::Tensor, double>>{{tensor({8, 0, 0, 2}, {2, 2}), 4},
                                                  {tensor({0, 6, 0, 3, 0, 0}, {2, 3}), 2},
                                                  {tensor({0, 3, 6, 0, 0, 0}, {3, 2}), 2},
                                                  {tensor({5, 0, 0, 1}, {2, 1, 1, 2}), 5}}) {
    Stream stream("parameter_condition");
    stream.feed(matrix);
    EXPECT_NEAR(*stream.get("condition"), condition, 1e-9);
  }
}

TEST(ParameterConditionPreprocessor, CountsASingularMatrixAsInfinite) {
  Stream stream("parameter_condition");
  stream.feed(tensor({1, 0, 0, 0}, {2, 2}));
  stream.feed(tensor({0}, {2, 2}));
  stream.feed(tensor({1, 0, 0, 1}, {2, 2}));
  EXPECT_EQ(stream.get("condition", Aggregate::inf_count), 2);
  EXPECT_EQ(stream.get("condition", Aggregate::nan_count), 0);
  EXPECT_NEAR(*stream.get("condition"), 1, 1e-9);
}

TEST(ParameterConditionPreprocessor, CountsNanInsteadOfDecomposingIt) {
  Stream stream("parameter_condition");
  stream.feed(tensor({INFINITY, 0, NAN, 1}, {2, 2}));
  stream.feed(tensor({INFINITY, 0, 0, 1}, {2, 2}));
  EXPECT_EQ(stream.get("condition", Aggregate::nan_count), 1);
  EXPECT_EQ(stream.get("condition", Aggregate::inf_count), 1);
}

TEST(ParameterConditionPreprocessor, LeavesVectorsAndEmptyTensorsOut) {
  Stream stream("parameter_condition");
  stream.feed(tensor({1, 2, 3}));
  stream.feed(tensor({}, {0, 3}));
  EXPECT_FALSE(stream.get("condition"));
}

TEST(LossModulePreprocessor, FilesALossByWhetherGradientsAreOnOrByTheModulesModeWhenToldTo) {
  Stream by_gradients("loss_module"), by_mode("loss_module", {{"evaluation_from_grad", false}});
  by_gradients.feed(tensor({2}), in_eval_mode);
  by_gradients.feed(tensor({5}), without_gradients);  // a loss module is seldom put in eval mode
  by_mode.feed(tensor({2}), without_gradients);
  by_mode.feed(tensor({5}), in_eval_mode);
  for (const Stream* stream : {&by_gradients, &by_mode}) {
    EXPECT_DOUBLE_EQ(*stream->get("train_loss"), 2);
    EXPECT_DOUBLE_EQ(*stream->get("val_loss"), 5);
  }
}

TEST(LossModulePreprocessor, NamesItsSeriesByOption) {
  EXPECT_EQ(Stream("loss_module", {{"train_loss", "fit"}, {"val_loss", "check"}}).series(), (Names{"fit", "check"}));
}

TEST(LossModulePreprocessor, RefusesAnUnreducedLoss) {
  Stream stream("loss_module");
  stream.feed(tensor({1, 2, 3}));
  EXPECT_TRUE(stream.bench().is_quarantined("probe"));
  std::string log;
  for (const std::string& line : stream.bench().log()) log += line;
  EXPECT_NE(log.find("3 numbers"), std::string::npos) << log;
}

TEST(LossModulePreprocessor, CountsNanAndInf) {
  Stream stream("loss_module", {{"inplace", false}});
  for (const double loss : {double{NAN}, double{INFINITY}, 3.0}) stream.feed(tensor({loss}));
  EXPECT_EQ(stream.values("train_loss"), Values{3});
  EXPECT_EQ(stream.get("train_loss", Aggregate::nan_count), 1);
  EXPECT_EQ(stream.get("train_loss", Aggregate::inf_count), 1);
}

TEST(ExplicitCallPreprocessor, FoldsWhatIsPushedUnderEachName) {
  Stream stream("explicit_call", {}, true);
  stream.bench().push_metric("accuracy", 0.5);
  stream.bench().push_metric("accuracy", 1.0);
  stream.bench().push_loss(3);
  EXPECT_EQ(stream.series(), (Names{"accuracy", "train_loss"}));
  EXPECT_DOUBLE_EQ(*stream.get("accuracy"), 0.75);
  EXPECT_DOUBLE_EQ(*stream.get("train_loss"), 3);
  EXPECT_THROW(stream.values("accuracy"), loupe::Error);
}

TEST(ExplicitCallPreprocessor, KeepsWhatIsPushedToMemory) {
  Stream stream("explicit_call", {}, true);
  for (const double value : {0.5, 1.0}) stream.bench().push_metric("accuracy", value, /*keep=*/true);
  EXPECT_EQ(stream.values("accuracy"), (Values{0.5, 1}));
}

TEST(ExplicitCallPreprocessor, KeepsOnlySelectedPushes) {
  for (const auto& [select, expected] :
       std::vector<std::pair<const char*, const char*>>{{"losses", "val_loss"}, {"metrics", "accuracy"}}) {
    Stream stream("explicit_call", {{"select", select}}, true);
    stream.bench().push_loss(1, /*train=*/false);
    stream.bench().push_metric("accuracy", 2);
    EXPECT_EQ(stream.series(), Names{expected});
  }
}

TEST(ExplicitCallPreprocessor, CountsPushedNanAndForgetsItWithTheEpoch) {
  Stream stream("explicit_call", {{"quantiles", true}}, true);
  for (const double value : {double{NAN}, 2.0}) stream.bench().push_metric("loss", value);
  EXPECT_DOUBLE_EQ(*stream.get("loss", Aggregate::median), 2);
  EXPECT_EQ(stream.get("loss", Aggregate::nan_count), 1);
  stream.reset();
  EXPECT_FALSE(stream.get("loss"));
}

TEST(ExplicitCallPreprocessor, DistinguishesManyNames) {
  Stream stream("explicit_call", {}, true);
  for (int round = 1; round <= 2; ++round) {
    for (int i = 0; i < 30; ++i) stream.bench().push_metric("name" + std::to_string(i), round * i);
  }
  ASSERT_EQ(stream.series().size(), 30U);
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(stream.get(("name" + std::to_string(i)).c_str(), Aggregate::count), 2) << i;
    EXPECT_EQ(stream.get(("name" + std::to_string(i)).c_str()), 1.5 * i) << i;
  }
  EXPECT_FALSE(stream.get("name30"));
}

TEST(OutputNormPreprocessor, TakesTheMeanOfTheSamplesNorms) {
  for (const auto& [output, norm] :
       std::vector<std::pair<lt::Tensor, double>>{{tensor({3, 4, 0, 1}, {2, 2}), 3}, {tensor({1}, {1, 2, 2, 1}), 2}}) {
    Stream stream("output_norm");
    stream.feed(output);
    EXPECT_DOUBLE_EQ(*stream.get("norm"), norm);
  }
}

TEST(OutputNormPreprocessor, DividesByTheRootOfASamplesSizeByOption) {
  Stream stream("output_norm", {{"normalize", true}});
  stream.feed(tensor({2, 2, 2, 2, 4, 4, 4, 4}, {2, 4}));
  EXPECT_DOUBLE_EQ(*stream.get("norm"), 3);
}

TEST(OutputNormPreprocessor, WeighsASmallerLastBatchAsOneEvent) {
  Stream stream("output_norm", {{"inplace", false}});
  stream.feed(tensor({1, 3}, {2, 1}));
  stream.feed(tensor({8}, {1, 1}));
  EXPECT_EQ(stream.values("norm"), (Values{2, 8}));
}

TEST(ParameterNormPreprocessor, TakesTheNormOfTheWholeTensor) {
  Stream whole("parameter_norm"), normalized("parameter_norm", {{"normalize", true}});
  whole.feed(tensor({1, -1, 1, 1}, {2, 2}));
  EXPECT_DOUBLE_EQ(*whole.get("norm"), 2);
  EXPECT_DOUBLE_EQ(*whole.get("norm", Aggregate::count), 1);
  normalized.feed(tensor({3, -3, 3, 3}, {2, 2}));
  EXPECT_DOUBLE_EQ(*normalized.get("norm"), 3);
}

TEST(NormPreprocessors, CountNanAndInfAndLeaveEmptyTensorsOut) {
  for (const char* preprocessor : {"output_norm", "parameter_norm"}) {
    Stream stream(preprocessor, {{"inplace", false}});
    stream.feed(tensor({NAN, INFINITY}, {2, 1}));
    stream.feed(tensor({INFINITY, 1}, {2, 1}));
    stream.feed(tensor({}, {0, 1}));
    EXPECT_TRUE(stream.values("norm").empty()) << preprocessor;
    stream.feed(tensor({1}, {1, 1}));
    EXPECT_DOUBLE_EQ(*stream.get("norm"), 1) << preprocessor;
    EXPECT_EQ(stream.get("norm", Aggregate::nan_count), 1) << preprocessor;
    EXPECT_EQ(stream.get("norm", Aggregate::inf_count), 1) << preprocessor;
  }
}

/// A stream that keeps every value.
class Geometry {
 protected:
  explicit Geometry(const char* preprocessor) : stream_(preprocessor, {{"inplace", false}}) {}
  void feed(const std::vector<Values>& tensors) {
    for (const Values& each : tensors) stream_.feed(tensor(each));
  }
  Values norms() const { return stream_.values("norm"); }
  Values correlations() const { return stream_.values("correlation"); }
  Stream stream_;
};

// gradient_geometry and output_gradient_geometry compute the same; only their inputs differ.
class TensorGeometry : public Geometry, public testing::TestWithParam<const char*> {
 protected:
  TensorGeometry() : Geometry(GetParam()) {}
};

TEST_P(TensorGeometry, ComputesTheNormAndDividesItByTheRootOfTheSizeByOption) {
  feed({{3, 4}});
  EXPECT_EQ(norms(), Values{5});
  EXPECT_FALSE(stream_.get("correlation")) << "the first tensor has no previous one";
  Stream normalized(GetParam(), {{"normalize", true}});
  normalized.feed(tensor({2, -2, 2, 2}));
  EXPECT_DOUBLE_EQ(*normalized.get("norm"), 2);
}

TEST_P(TensorGeometry, CorrelatesWithTheEventBefore) {
  feed({{1, 0}, {2, 0}, {0, 3}, {0, -1}, {1, -1}});
  expect_near(correlations(), {1, 0, -1, std::sqrt(0.5)});
}

TEST_P(TensorGeometry, CountsTheFirstCorrelationAsZeroByOption) {
  Stream stream(GetParam(), {{"inplace", false}, {"first", true}});
  for (int i = 0; i < 2; ++i) stream.feed(tensor({1, 0}));
  expect_near(stream.values("correlation"), {0, 1});
}

TEST_P(TensorGeometry, CorrelatesTinyTensorsAsItDoesLargeOnes) {
  feed({{4e-9, 3e-9}, {3e-9, 4e-9}});
  expect_near(correlations(), {0.96});
}

TEST_P(TensorGeometry, CarriesCorrelationOverATick) {
  feed({{1, 0}});
  stream_.reset();
  feed({{-1, 0}});
  expect_near(correlations(), {-1});
}

TEST_P(TensorGeometry, HasNoCorrelationWithZero) {
  feed({{1, 0}, {0, 0}, {0, 0}, {1, 0}});
  EXPECT_EQ(norms().size(), 4U);
  EXPECT_FALSE(stream_.get("correlation"));
}

TEST_P(TensorGeometry, AddsEpsToTheDivisorOfACorrelation) {
  Stream stream(GetParam(), {{"inplace", false}, {"eps", 1.0}});
  for (int i = 0; i < 2; ++i) stream.feed(tensor({1}));
  EXPECT_EQ(stream.values("correlation"), Values{0.5});
}

TEST_P(TensorGeometry, LeavesCorrelationOutByOption) {
  EXPECT_EQ(Stream(GetParam(), {{"correlation", false}}).series(), Names{"norm"});
}

TEST_P(TensorGeometry, HasNoCorrelationAcrossAChangeOfShape) {
  feed({{1, 1}, {1, 1, 1}, {1, 1, 1}});
  EXPECT_EQ(norms().size(), 3U);
  expect_near(correlations(), {1});
}

TEST_P(TensorGeometry, CountsAnEventWithNaNOrInfAndDoesNotCompareWithIt) {
  feed({{1, 1}, {NAN, 1}, {1, 1}, {1, 1}, {-INFINITY, 1}});
  expect_near(norms(), {std::sqrt(2.0), std::sqrt(2.0), std::sqrt(2.0)});
  expect_near(correlations(), {1});
  for (const char* series : {"norm", "correlation"}) {
    EXPECT_EQ(stream_.get(series, Aggregate::nan_count), 1) << series;
    EXPECT_EQ(stream_.get(series, Aggregate::inf_count), 1) << series;
  }
}

TEST_P(TensorGeometry, IgnoresAnEmptyTensor) {
  stream_.feed(tensor({}, {0}));
  EXPECT_FALSE(stream_.get("norm"));
  feed({{1}, {1}});
  expect_near(correlations(), {1});
}

INSTANTIATE_TEST_SUITE_P(Both, TensorGeometry, testing::Values("gradient_geometry", "output_gradient_geometry"),
                         [](const auto& info) { return std::string(info.param); });

class ParameterDifferenceGeometry : public Geometry, public testing::Test {
 protected:
  ParameterDifferenceGeometry() : Geometry("parameter_difference_geometry") {}
};

TEST_F(ParameterDifferenceGeometry, TakesTheNormOfTheChange) {
  feed({{1, 1}});
  EXPECT_FALSE(stream_.get("norm"));
  feed({{4, 5}});
  EXPECT_EQ(norms(), Values{5});
  EXPECT_FALSE(stream_.get("correlation"));
}

TEST_F(ParameterDifferenceGeometry, CountsTheFirstCorrelationAsZeroByOption) {
  Stream stream("parameter_difference_geometry", {{"inplace", false}, {"first", true}});
  for (const double x : {0.0, 1.0, 2.0}) stream.feed(tensor({x, 0}));
  expect_near(stream.values("correlation"), {0, 1});
}

TEST_F(ParameterDifferenceGeometry, CorrelatesTheUpdatesOfASmallLearningRate) {
  feed({{0, 0}, {4e-7, 3e-7}, {7e-7, 7e-7}});
  expect_near(correlations(), {0.96});
}

TEST_F(ParameterDifferenceGeometry, CorrelatesWithTheChangeBeforeAlsoOverATick) {
  feed({{0, 0}, {1, 0}, {3, 0}});
  expect_near(correlations(), {1});
  stream_.reset();
  feed({{2, 0}, {2, 7}});
  expect_near(correlations(), {-1, 0});
}

TEST_F(ParameterDifferenceGeometry, ShowsAFrozenParameterAsUnchanged) {
  feed({{1, 2}, {1, 2}, {1, 2}});
  EXPECT_EQ(norms(), (Values{0, 0}));
  EXPECT_FALSE(stream_.get("correlation"));
}

TEST_F(ParameterDifferenceGeometry, DividesByTheRootOfTheSizeAndLeavesCorrelationOutByOption) {
  Stream stream("parameter_difference_geometry", {{"normalize", true}, {"correlation", false}});
  for (const double x : {0.0, 2.0}) stream.feed(tensor({x}, {4}));
  EXPECT_DOUBLE_EQ(*stream.get("norm"), 2);
  EXPECT_EQ(stream.series(), Names{"norm"});
}

TEST_F(ParameterDifferenceGeometry, StartsAgainAfterAChangeOfShape) {
  feed({{0}, {1}, {5, 5}});
  EXPECT_EQ(norms().size(), 1U);
  feed({{5, 6}, {5, 8}});
  EXPECT_EQ(norms(), (Values{1, 1, 2}));
  expect_near(correlations(), {1});
}

TEST_F(ParameterDifferenceGeometry, CountsNaNAndComputesNoChangeFromIt) {
  feed({{0}, {1}, {NAN}, {2}});
  EXPECT_EQ(norms(), Values{1});
  feed({{3}, {4}});
  EXPECT_EQ(norms(), (Values{1, 1, 1}));
  expect_near(correlations(), {1});
  EXPECT_EQ(stream_.get("norm", Aggregate::nan_count), 1);
}

TEST_F(ParameterDifferenceGeometry, IgnoresAnEmptyTensor) {
  for (int i = 0; i < 2; ++i) stream_.feed(tensor({}, {0}));
  EXPECT_FALSE(stream_.get("norm"));
}

}  // namespace
