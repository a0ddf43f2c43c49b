#include "built_in.h"

#include <memory>

namespace {

// The three lenses that show a norm and a correlation, each with a different tap.
enum class Of { output_gradient, gradient, change };
struct Case {
  const char* lens;
  Of of;
  const char* title;
};

class GeometryLens : public testing::TestWithParam<Case> {
 protected:
  LensBench& make(const std::string& yaml = "{}") {
    bench_ = std::make_unique<LensBench>(GetParam().lens, yaml);
    fc_ = bench_->add("fc", "Linear", {{"weight", {2}}});
    at_ = {0, 0};
    if (GetParam().of == Of::change) bench_->set(fc_, "weight", tensor(at_));
    return *bench_;
  }
  /// Shows the vector (x, y) to the lens.
  void see(double x, double y) {
    at_ = GetParam().of == Of::change ? std::vector<double>{at_[0] + x, at_[1] + y} : std::vector<double>{x, y};
    if (GetParam().of == Of::output_gradient) return bench_->output_gradient(fc_, tensor(at_));
    if (GetParam().of == Of::gradient) return bench_->gradient(fc_, "weight", tensor(at_));
    bench_->set(fc_, "weight", tensor(at_));
    bench_->step();
  }
  LensBench& tick() {
    bench_->tick();
    return *bench_;
  }
  std::string norm() const { return std::string(GetParam().title) + " Norm"; }
  std::string correlation() const { return std::string(GetParam().title) + " Correlation"; }
  lt::Module fc_;

 private:
  std::unique_ptr<LensBench> bench_;
  std::vector<double> at_;
};

TEST_P(GeometryLens, ShowsNormsAndCorrelations) {
  make();
  see(3, 4);
  see(6, 8);
  const LensBench& shown = tick();
  EXPECT_EQ(shown.number(norm(), "fc", "mean"), 7.5);
  EXPECT_EQ(shown.band(norm(), "fc", "-σ"), std::pair(5.0, 10.0));
  EXPECT_EQ(shown.band(norm(), "fc", "min"), std::pair(5.0, 10.0));
  EXPECT_NEAR(shown.value(correlation(), "fc", "mean"), 1, 1e-6);
  EXPECT_NEAR(shown.band(correlation(), "fc", "min").first, 1, 1e-6);
}

TEST_P(GeometryLens, ComputesCorrelationsWithAnEpsilonAndTheFirstAsZeroByOption) {
  make("{correlation_eps: 1, first_correlation: true}");
  see(1, 0);
  see(1, 0);
  EXPECT_EQ(tick().band(correlation(), "fc", "min"), std::pair(0.0, 0.5));
}

TEST_P(GeometryLens, LeavesCorrelationOutByOption) {
  make("{compute_correlation: false}");
  see(1, 0);
  const LensBench& shown = tick();
  EXPECT_FALSE(shown.has_tag(correlation()));
  EXPECT_EQ(shown.layers(norm()), Names{"fc"});
}

TEST_P(GeometryLens, NormalizesBySizeByOption) {
  make("{normalize_by_size: true}");
  see(3, 3);
  EXPECT_NEAR(tick().value(norm(), "fc", "mean"), 3, 1e-9);
}

TEST_P(GeometryLens, ShowsTheLinesAndBandsAskedForAlsoQuantiles) {
  for (const char* inplace : {"true", "false"}) {
    make(std::string("{line: [median, max], range: Q1-Q3, inplace: ") + inplace + "}");
    for (const double length : {1, 2, 3, 4, 5}) see(length, 0);
    const LensBench& shown = tick();
    EXPECT_EQ(shown.number(norm(), "fc", "median"), 3);
    EXPECT_EQ(shown.number(norm(), "fc", "max"), 5);
    EXPECT_FALSE(shown.number(norm(), "fc", "mean"));
    EXPECT_EQ(shown.band(norm(), "fc", "Q1"), std::pair(2.0, 4.0));
    for (const std::string& tag : {norm(), correlation()}) {
      EXPECT_FALSE(shown.has_band(tag, "fc", "min") || shown.has_band(tag, "fc", "-σ")) << tag;
    }
  }
}

TEST_P(GeometryLens, DeclaresANormAndABoundedCorrelation) {
  make("{log_scale: true}");
  const lt::Tag norms = tick().tag(norm()), correlations = tick().tag(correlation());
  EXPECT_EQ(norms.type, static_cast<uint32_t>(LOUPE_SCALE_NUMERICAL));
  EXPECT_TRUE(norms.log_y);
  EXPECT_FALSE(norms.big);
  EXPECT_EQ(norms.y_minimum, std::nullopt);
  EXPECT_FALSE(correlations.log_y);
  EXPECT_EQ(correlations.y_minimum, -1);
  EXPECT_EQ(correlations.y_maximum, 1);
  make();
  EXPECT_FALSE(tick().tag(norm()).log_y);
}

TEST_P(GeometryLens, ShowsNothingAtATickWithoutData) {
  make();
  EXPECT_TRUE(tick().is_silent());
  see(1, 0);
  EXPECT_FALSE(tick().is_silent());
  EXPECT_TRUE(tick().is_silent());
}

TEST_P(GeometryLens, CountsNaNEventsAndLeavesThemOutOfTheMean) {
  make();
  see(3, 4);
  see(NAN, 4);
  const LensBench& shown = tick();
  EXPECT_EQ(shown.number(norm(), "fc", "mean"), 5);
  EXPECT_EQ(shown.number("Non-Finite Values", "fc", norm() + " NaN"), 1);
  EXPECT_FALSE(shown.number("Non-Finite Values", "fc", norm() + " Inf"));
}

TEST_P(GeometryLens, ForgetsADetachedModule) {
  LensBench& bench = make();
  see(1, 0);
  bench.forget_with_a_tick(fc_);
  EXPECT_TRUE(tick().is_silent());
}

INSTANTIATE_TEST_SUITE_P(All, GeometryLens,
                         testing::Values(Case{"output_gradient_geometry", Of::output_gradient, "Output Gradient"},
                                         Case{"gradient_geometry", Of::gradient, "Weight Gradient"},
                                         Case{"parameter_difference", Of::change, "Weight Update"}),
                         [](const auto& info) { return std::string(info.param.lens); });

TEST(OutputGradientGeometryLens, LooksAtLeavesAndSkipsActivationsUnlessToldNotTo) {
  for (const auto& [yaml, expected] :
       std::vector<std::pair<const char*, Names>>{{"{}", {"drop", "fc"}},
                                                  {"{skip_activation: false}", {"act", "drop", "fc", "fc:relu"}},
                                                  {"{exclude: [Dropout]}", {"fc"}},
                                                  {"{include: [+ReLU]}", {"act", "drop", "fc"}},
                                                  {"{include: ['f*']}", {"fc", "fc:relu"}}}) {
    LensBench bench("output_gradient_geometry", yaml);
    bench.add("", "Net", {}, LOUPE_MODULE_ROOT);
    bench.add("fc", "Linear");
    bench.add("drop", "Dropout");
    bench.add("act", "ReLU");
    bench.add("fc:relu", "relu", {}, LOUPE_MODULE_FUNCTIONAL);
    bench.add("loss_fn", "MSELoss", {}, LOUPE_MODULE_LEAF | LOUPE_MODULE_LOSS);
    bench.live();
    EXPECT_EQ(bench.layers("Output Gradient Norm"), expected) << yaml;
  }
}

class ParameterGeometryLens : public testing::TestWithParam<Case> {
 protected:
  static std::string tag(const char* role) { return std::string(role) + " " + GetParam().title + " Norm"; }
};

TEST_P(ParameterGeometryLens, ShowsALayerWithoutBiasInTheWeightsPlotsAlone) {
  LensBench bench(GetParam().lens);
  bench.add("with", "Linear", weight_and_bias);
  bench.add("without", "Linear", {{"weight", {2, 2}}});
  bench.add("act", "ReLU");
  bench.live();
  EXPECT_EQ(bench.layers(tag("Weight")), (Names{"with", "without"}));
  EXPECT_EQ(bench.layers(tag("Bias")), Names{"with"});
}

TEST_P(ParameterGeometryLens, WatchesContainersThatOwnAParameter) {
  LensBench bench(GetParam().lens, "{parameters: [scale_factor]}");
  bench.add("", "Net", {{"scale_factor", {2, 2}}}, LOUPE_MODULE_ROOT);
  bench.add("fc", "Linear", {{"weight", {2, 2}}});
  bench.live();
  EXPECT_EQ(bench.layers(tag("Weight")).size(), 1U);
  EXPECT_FALSE(bench.has_value(tag("Weight"), "fc", "mean"));
}

TEST_P(ParameterGeometryLens, WatchesEveryParameterByDefaultAndShowsItAsWeightOrBias) {
  LensBench bench(GetParam().lens);
  bench.add("lstm", "LSTM",
            {{"weight_ih_l0", {2, 2}}, {"weight_hh_l0", {2, 2}}, {"bias_ih_l0", {2}}, {"bias_hh_l0", {2}}});
  bench.add("fc", "Linear", {{"weight", {2, 2}}, {"bias", {2}}, {"lora_a", {2, 2}}, {"lora_b", {2, 2}}});
  bench.add("attention", "MultiheadAttention", {{"in_proj_weight", {2, 2}}, {"in_proj_bias", {2}}}, 0);
  bench.live();
  EXPECT_EQ(bench.layers(tag("Weight")),
            (Names{"attention", "fc", "fc.lora_a", "fc.lora_b", "lstm.weight_hh_l0", "lstm.weight_ih_l0"}));
  EXPECT_EQ(bench.layers(tag("Bias")), (Names{"attention", "fc", "lstm.bias_hh_l0", "lstm.bias_ih_l0"}));
}

TEST_P(ParameterGeometryLens, ReportsAnUnknownParameterOnce) {
  LensBench bench(GetParam().lens, "{parameters: [wieght, bias, '*_l0']}");
  bench.add("fc", "Linear", weight_and_bias);
  for (int i = 0; i < 2; ++i) bench.tick();
  ASSERT_EQ(bench.told().size(), 2U);
  EXPECT_EQ(bench.told()[0], "no parameter fits 'wieght' given in parameters; did you mean 'weight'?");
  EXPECT_NE(bench.told()[1].find("no parameter fits '*_l0'"), std::string::npos);
}

TEST_P(ParameterGeometryLens, ReportsAModelWithoutParametersOnce) {
  LensBench bench(GetParam().lens);
  bench.add("act", "ReLU");
  for (int i = 0; i < 2; ++i) bench.tick();
  ASSERT_EQ(bench.told().size(), 1U);
  EXPECT_NE(bench.told()[0].find("it watches nothing"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Both, ParameterGeometryLens,
                         testing::Values(Case{"parameter_gradient_geometry", Of::gradient, "Gradient"},
                                         Case{"parameter_difference", Of::change, "Update"}),
                         [](const auto& info) { return std::string(info.param.lens); });

TEST(ParameterDifferenceLens, AnswersToTheOriginalsName) {
  EXPECT_NO_THROW(LensBench("parameter_update_geometry"));
}

// The option `gradient` of the lenses that watch gradients of parameters.
TEST(GradientOption, UsesTheGradientOfTheStepByOption) {
  for (const auto& [lens, tag] :
       std::vector<std::pair<const char*, const char*>>{{"gradient_geometry", "Weight Gradient Norm"},
                                                        {"parameter_gradient_activation", "Weight Gradient Activation"},
                                                        {"histograms", "Weight Gradient Histogram"}}) {
    LensBench accumulated(lens), stepped(lens, "{gradient: step}");
    for (LensBench* bench : {&accumulated, &stepped}) {
      const lt::Module fc = bench->add("fc", "Linear", weight_and_bias);
      bench->gradient(fc, "weight", tensor({1}, {2, 2}));
      bench->tick();
    }
    EXPECT_EQ(accumulated.layers(tag), Names{"fc"}) << lens;
    EXPECT_TRUE(stepped.layers(tag).empty()) << lens;
    stepped.step();
    stepped.tick();
    EXPECT_EQ(stepped.layers(tag), Names{"fc"}) << lens;
  }
}

}  // namespace
