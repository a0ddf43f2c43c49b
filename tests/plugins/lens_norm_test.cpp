// Tests of the lenses output_norm, parameter_norm, parameter_condition and update_ratio.

#include "built_in.h"

#include <tuple>

namespace {

constexpr const char* output_tag = "Output Norm";
constexpr const char* comparison = "Mean Output Norm Comparison";
constexpr const char* condition_tag = "Weight Condition Number";
constexpr const char* ratio_tag = "Weight Update Ratio";

/// Adds a layer whose outputs have these norms in turn.
lt::Module add_layer(LensBench& bench, const std::string& name, const std::vector<double>& norms) {
  const lt::Module layer = bench.add(name, "ReLU");
  for (const double norm : norms) bench.forward(layer, tensor({norm}, {1, 1}));
  return layer;
}

TEST(OutputNormLens, WatchesActivationsAndIncludedModules) {
  for (const auto& [yaml, expected] :
       std::vector<std::pair<const char*, Names>>{{"{}", {"act"}},
                                                  {"{activation: false}", {}},
                                                  {"{include: [+Linear, +Dropout]}", {"act", "drop", "fc"}},
                                                  {"{include: [Linear, Dropout]}", {"drop", "fc"}},
                                                  {"{include: [+Linear], exclude: [ReLU]}", {"fc"}}}) {
    LensBench bench("output_norm", yaml);
    for (const auto& [name, type] : {std::pair("fc", "Linear"), {"act", "ReLU"}, {"drop", "Dropout"}})
      bench.add(name, type);
    bench.live();
    EXPECT_EQ(bench.layers(output_tag), expected) << yaml;
  }
}

TEST(OutputNormLens, ComparesLayersAsSharesThatSumToOne) {
  LensBench bench("output_norm");
  const lt::Module a = add_layer(bench, "a", {1});
  add_layer(bench, "b", {3});
  add_layer(bench, "silent", {});
  bench.tick();
  EXPECT_EQ(bench.number(comparison, "", "a"), 0.25);
  EXPECT_EQ(bench.number(comparison, "", "b"), 0.75);
  EXPECT_FALSE(bench.number(comparison, "", "silent"));
  bench.forward(a, tensor({0}, {1, 1}));
  bench.tick();
  EXPECT_EQ(bench.number(comparison, "", "a"), 0) << "if all norms are zero";
}

TEST(OutputNormLens, ComparesByTheGivenAggregationOrTheFirstLine) {
  for (const auto& [yaml, tag, share] : std::vector<std::tuple<const char*, const char*, double>>{
           {"{comparison_aggregation: max}", "Max Output Norm Comparison", 3.0 / 5},
           {"{line: [min, mean]}", "Min Output Norm Comparison", 1.0 / 3},
           {"{line: none}", "Mean Output Norm Comparison", 2.0 / 4},
           {"{comparison_aggregation: median, log_scale: true}", "Median Output Log Norm Comparison", 2.0 / 4}}) {
    LensBench bench("output_norm", yaml);
    add_layer(bench, "a", {1, 3});
    add_layer(bench, "b", {2});
    bench.tick();
    EXPECT_DOUBLE_EQ(bench.value(tag, "", "a"), share) << yaml;
  }
}

TEST(OutputNormLens, DeclaresItsTagsByTheOptions) {
  LensBench plain("output_norm"), other("output_norm", "{log_scale: true, comparison_plot: false}");
  plain.tick();
  other.tick();
  EXPECT_EQ(plain.tags(), (Names{comparison, output_tag}));
  EXPECT_EQ(plain.tag(output_tag).type, static_cast<uint32_t>(LOUPE_SCALE_NUMERICAL));
  EXPECT_FALSE(plain.tag(output_tag).log_y);
  EXPECT_EQ(plain.tag(comparison).type, static_cast<uint32_t>(LOUPE_SCALE_RELATION));
  EXPECT_TRUE(plain.tag(comparison).big);
  EXPECT_EQ(other.tags(), Names{output_tag});
  EXPECT_TRUE(other.tag(output_tag).log_y);
}

TEST(OutputNormLens, PassesItsOptionsOn) {
  const auto norm = [](const char* yaml, lt::Pass pass) {
    LensBench bench("output_norm", yaml);
    bench.forward(bench.add("act", "ReLU"), tensor({2}, {1, 4}), pass);
    bench.tick();
    return bench.number(output_tag, "act", "mean");
  };
  EXPECT_EQ(norm("{normalize_by_size: true}", lt::training_pass), 2);
  EXPECT_FALSE(norm("{}", lt::evaluation_pass));
  EXPECT_EQ(norm("{record_eval: true}", lt::evaluation_pass), 4);
  EXPECT_FALSE(norm("{evaluation_from_grad: true}", without_gradients));
}

TEST(OutputNormLens, LeavesALayerOfNanOutOfTheComparisonAndNamesIt) {
  LensBench bench("output_norm");
  add_layer(bench, "bad", {NAN});
  add_layer(bench, "good", {2});
  bench.tick();
  EXPECT_EQ(bench.number(comparison, "", "good"), 1);
  EXPECT_FALSE(bench.number(comparison, "", "bad"));
  EXPECT_EQ(bench.number("Non-Finite Values", "bad", "Output Norm NaN"), 1);
}

TEST(OutputNormLens, ForgetsADetachedModule) {
  LensBench bench("output_norm");
  bench.forget_with_a_tick(add_layer(bench, "gone", {1}));
  add_layer(bench, "kept", {1});
  bench.tick();
  EXPECT_EQ(bench.layers(output_tag), Names{"kept"});
  EXPECT_EQ(bench.number(comparison, "", "kept"), 1);
}

/// Adds a layer with this weight, and this bias if given.
lt::Module add_linear(LensBench& bench, const std::string& name, const lt::Tensor& weight,
                      const std::optional<lt::Tensor>& bias = {}) {
  std::vector<lt::Parameter> parameters = {{"weight", weight.sizes}};
  if (bias) parameters.push_back({"bias", bias->sizes});
  const lt::Module layer = bench.add(name, "Linear", parameters);
  bench.set(layer, "weight", weight);
  if (bias) bench.set(layer, "bias", *bias);
  return layer;
}

TEST(ParameterNormLens, ShowsTheNormOfEachParameterAtTheTick) {
  LensBench bench("parameter_norm");
  add_linear(bench, "fc", tensor({1}, {2, 2}), tensor({3, 4}));
  bench.tick();
  EXPECT_EQ(bench.number("Weight Norm", "fc", "mean"), 2);
  EXPECT_EQ(bench.number("Bias Norm", "fc", "mean"), 5);
  EXPECT_FALSE(bench.has_band("Weight Norm", "fc", "-σ"));
}

TEST(ParameterNormLens, ComparesLayersAsSharesThatSumToOne) {
  LensBench bench("parameter_norm");
  add_linear(bench, "a", tensor({1}), tensor({1}));
  add_linear(bench, "b", tensor({3}));
  bench.tick();
  EXPECT_EQ(bench.number("Weight Norm Comparison", "", "a"), 0.25);
  EXPECT_EQ(bench.number("Weight Norm Comparison", "", "b"), 0.75);
  EXPECT_EQ(bench.number("Bias Norm Comparison", "", "a"), 1);
  EXPECT_FALSE(bench.number("Bias Norm Comparison", "", "b"));
}

TEST(ParameterNormLens, NormalizesAndNamesItsLineAfterTheAggregation) {
  LensBench bench("parameter_norm", "{normalize_by_size: true, aggregation_method: median, inplace: false}");
  add_linear(bench, "fc", tensor({2}, {4}));
  bench.tick();
  EXPECT_EQ(bench.number("Weight Norm", "fc", "median"), 2);
}

TEST(ParameterNormLens, DeclaresItsTagsByTheOptions) {
  LensBench plain("parameter_norm"), log("parameter_norm", "{log_scale: true}"),
      alone("parameter_norm", "{comparison_plot: false, parameters: [biases]}");
  for (LensBench* bench : {&plain, &log, &alone}) {
    bench->add("fc", "Linear", weight_and_bias);
    bench->tick();
  }
  EXPECT_EQ(plain.tags(), (Names{"Bias Norm", "Bias Norm Comparison", "Weight Norm", "Weight Norm Comparison"}));
  EXPECT_EQ(plain.tag("Weight Norm").type, static_cast<uint32_t>(LOUPE_SCALE_NUMERICAL));
  EXPECT_FALSE(plain.tag("Bias Norm").log_y);
  EXPECT_EQ(plain.tag("Bias Norm Comparison").type, static_cast<uint32_t>(LOUPE_SCALE_RELATION));
  EXPECT_TRUE(log.tag("Weight Norm").log_y);
  EXPECT_TRUE(log.has_tag("Weight Log Norm Comparison"));
  EXPECT_EQ(alone.tags(), Names{"Bias Norm"});
}

TEST(ParameterNormLens, CountsInfAndForgetsADetachedModule) {
  LensBench bench("parameter_norm");
  const lt::Module fc = add_linear(bench, "fc", tensor({INFINITY}));
  add_linear(bench, "other", tensor({1}));
  bench.tick();
  EXPECT_EQ(bench.number("Non-Finite Values", "fc", "Weight Norm Inf"), 1);
  EXPECT_EQ(bench.number("Weight Norm Comparison", "", "other"), 1);
  bench.forget_with_a_tick(fc);
  bench.tick();
  EXPECT_EQ(bench.layers("Weight Norm"), Names{"other"});
}

TEST(ParameterConditionLens, ShowsTheConditionNumberOfWeightsAtTheTick) {
  LensBench bench("parameter_condition");
  const lt::Module fc = add_linear(bench, "fc", tensor({8, 0, 0, 2}, {2, 2}), tensor({1, 1}));
  add_linear(bench, "norm", tensor({1, 1}));  // a vector
  bench.tick();
  EXPECT_NEAR(bench.value(condition_tag, "fc", "mean"), 4, 1e-9);
  EXPECT_EQ(bench.layers(condition_tag), Names{"fc"});
  EXPECT_FALSE(bench.has_tag("Bias Condition Number"));
  bench.forget_with_a_tick(fc);
  bench.tick();
  EXPECT_TRUE(bench.is_silent());
}

TEST(ParameterConditionLens, NamesItsLineAfterTheAggregation) {
  LensBench bench("parameter_condition", "{aggregation: Q1, inplace: true}");
  add_linear(bench, "fc", tensor({3, 0, 0, 1}, {2, 2}));
  bench.tick();
  EXPECT_NEAR(bench.value(condition_tag, "fc", "Q1"), 3, 1e-9);
}

TEST(ParameterConditionLens, DeclaresATagPerParameterWithALogarithmicAxisByOption) {
  for (const bool log_scale : {false, true}) {
    LensBench bench("parameter_condition", log_scale ? "{log_scale: true, parameters: [weight, kernel]}" : "{}");
    bench.add("fc", "Custom", {{"weight", {2, 2}}, {"kernel", {2, 2}}, {"bias", {2}}});
    bench.tick();
    EXPECT_EQ(bench.tags(), Names{condition_tag});
    EXPECT_EQ(bench.tag(condition_tag).log_y, log_scale);
  }
}

class UpdateRatioLens : public testing::Test {
 protected:
  LensBench& make(const std::vector<double>& weight, const std::string& yaml = "{}") {
    LensBench& bench = bench_.emplace("update_ratio", yaml);
    fc_ = add_linear(bench, "fc", tensor(weight), tensor({0, 0}));
    return bench;
  }
  void step_to(double x, double y) {
    bench_->set(fc_, "weight", tensor({x, y}));
    bench_->step();
  }
  lt::Module fc_;

 private:
  std::optional<LensBench> bench_;
};

TEST_F(UpdateRatioLens, DividesTheNormOfAStepByThatOfTheParameterAndGoesOnOverATick) {
  LensBench& bench = make({0, 10});
  step_to(6, 8);  // moved by (6, -2) to a length of 10
  step_to(3, 4);  // moved by (-3, -4) to a length of 5
  bench.tick();
  EXPECT_NEAR(bench.value(ratio_tag, "fc", "mean"), (std::sqrt(40.0) / 10 + 1) / 2, 1e-6);
  EXPECT_NEAR(bench.value(ratio_tag, "fc", "max"), 1, 1e-6);
  EXPECT_TRUE(bench.layers("Bias Update Ratio").empty()) << "zeros have no ratio";
  EXPECT_FALSE(bench.has_band(ratio_tag, "fc", "-σ"));
  step_to(6, 8);
  bench.tick();
  EXPECT_NEAR(bench.value(ratio_tag, "fc", "mean"), 0.5, 1e-6);
}

TEST_F(UpdateRatioLens, ShowsAFrozenParameterAsUnmoved) {
  LensBench& bench = make({1, 1});
  step_to(1, 1);
  bench.tick();
  EXPECT_EQ(bench.number(ratio_tag, "fc", "mean"), 0);
}

TEST_F(UpdateRatioLens, CountsNaNStepsAndComputesNoRatioFromThem) {
  LensBench& bench = make({3, 4});
  step_to(NAN, 4);
  step_to(3, 4);
  step_to(6, 8);
  bench.tick();
  EXPECT_NEAR(bench.value(ratio_tag, "fc", "mean"), 0.5, 1e-6);
  EXPECT_EQ(bench.number("Non-Finite Values", "fc", "Weight Update Ratio NaN"), 1);
}

TEST_F(UpdateRatioLens, DeclaresALogarithmicPlotWithAHealthyRange) {
  make({1, 1}).tick();
  LensBench& bench = make({1, 1});
  bench.tick();
  const lt::Tag tag = bench.tag(ratio_tag);
  EXPECT_TRUE(tag.log_y);
  EXPECT_FALSE(tag.big);
  EXPECT_NE(tag.healthy.find("1e-4 and 1e-2"), std::string::npos) << tag.healthy;
  LensBench& linear = make({1, 1}, "{log_scale: false}");
  linear.tick();
  EXPECT_FALSE(linear.tag(ratio_tag).log_y);
}

TEST_F(UpdateRatioLens, WatchesTheGivenParametersAndModulesAndShowsQuantiles) {
  LensBench& biases = make({1, 1}, "{parameters: biases}");
  biases.live();
  EXPECT_FALSE(biases.has_tag(ratio_tag));
  EXPECT_EQ(biases.layers("Bias Update Ratio"), Names{"fc"});
  LensBench& none = make({1, 1}, "{exclude: [Linear]}");
  none.live();
  EXPECT_TRUE(none.is_silent());
  LensBench& bench = make({0, 0}, "{line: median, range: Q1-Q3}");
  for (const double length : {1, 2, 4}) step_to(length, 0);
  bench.tick();
  EXPECT_EQ(bench.number(ratio_tag, "fc", "median"), 0.5);
  EXPECT_EQ(bench.band(ratio_tag, "fc", "Q1"), std::pair(0.5, 0.75));
}

TEST_F(UpdateRatioLens, ForgetsADetachedModule) {
  LensBench& bench = make({1, 1});
  step_to(2, 2);
  bench.forget_with_a_tick(fc_);
  bench.tick();
  EXPECT_TRUE(bench.is_silent());
}

}  // namespace
