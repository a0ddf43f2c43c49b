#include <gtest/gtest.h>

#include <cmath>

#include "lens_world.h"

namespace loupe::test {
namespace {

using Names = std::vector<std::string>;

// The three lenses that show a norm and a correlation, each on its own tap.
struct Case {
  const char* lens;
  const char* plugin;
  uint32_t tap;
  const char* label;
  const char* title;
  bool of_changes;  // shows what changed since the last event, not the event's tensor
};

class GeometryLens : public testing::TestWithParam<Case> {
 protected:
  LensWorld& make(const std::string& yaml = "{}") {
    LensWorld& world = world_.emplace(GetParam().lens, yaml, GetParam().plugin);
    world.add({"fc", "Linear", LOUPE_FAMILY_LINEAR, LOUPE_MODULE_LEAF, {"weight"}});
    if (GetParam().of_changes) world.prime("fc", "weight", Tensor({2}, {0, 0}));
    at_ = {0, 0};
    return world;
  }
  /// Makes the lens see the vector (x, y).
  void see(LensWorld& world, float x, float y) {
    at_ = GetParam().of_changes ? std::vector<float>{at_[0] + x, at_[1] + y} : std::vector<float>{x, y};
    world.event(GetParam().tap, "fc", Tensor({2}, at_), GetParam().label);
  }
  std::string norm() const { return std::string(GetParam().title) + " Norm"; }
  std::string correlation() const { return std::string(GetParam().title) + " Correlation"; }

 private:
  std::optional<LensWorld> world_;
  std::vector<float> at_;
};

TEST_P(GeometryLens, ShowsNormsAndCorrelations) {
  LensWorld& world = make();
  see(world, 3, 4);
  see(world, 6, 8);
  const Shown shown = world.tick();
  EXPECT_EQ(shown.value(norm(), "fc", "mean"), 7.5);
  EXPECT_EQ(shown.range(norm(), "fc", "-σ|+σ"), std::pair(5.0, 10.0));
  EXPECT_EQ(shown.range(norm(), "fc", "min|max"), std::pair(5.0, 10.0));
  EXPECT_NEAR(*shown.value(correlation(), "fc", "mean"), 1, 1e-6);
  EXPECT_NEAR(shown.range(correlation(), "fc", "min|max")->first, 1, 1e-6);
}

TEST_P(GeometryLens, CorrelatesSmallTensorsAndLeavesOutTheFirst) {
  LensWorld& world = make();
  see(world, 4e-7F, 3e-7F);
  EXPECT_FALSE(world.tick().value(correlation(), "fc", "mean"));
  see(world, 3e-7F, 4e-7F);
  EXPECT_NEAR(*world.tick().value(correlation(), "fc", "mean"), 0.96, 1e-5);
}

TEST_P(GeometryLens, ReckonsCorrelationsWithAnEpsilonAndTheFirstAsZeroWhenToldTo) {
  LensWorld& world = make("{correlation_eps: 1, first_correlation: true}");
  see(world, 1, 0);
  see(world, 1, 0);
  const Shown shown = world.tick();
  EXPECT_EQ(shown.range(correlation(), "fc", "min|max"), std::pair(0.0, 0.5));
}

TEST_P(GeometryLens, CarriesCorrelationOverATick) {
  LensWorld& world = make();
  see(world, 1, 0);
  world.tick();
  see(world, -1, 0);
  EXPECT_NEAR(*world.tick().value(correlation(), "fc", "mean"), -1, 1e-6);
}

TEST_P(GeometryLens, LeavesCorrelationOutWhenToldTo) {
  LensWorld& world = make("{compute_correlation: false}");
  see(world, 1, 0);
  const Shown shown = world.tick();
  EXPECT_EQ(shown.tags.count(correlation()), 0u);
  EXPECT_EQ(shown.layers(norm()), Names{"fc"});
  EXPECT_TRUE(shown.layers(correlation()).empty());
}

TEST_P(GeometryLens, NormalizesBySizeWhenToldTo) {
  LensWorld& world = make("{normalize_by_size: true}");
  see(world, 3, 3);
  EXPECT_NEAR(*world.tick().value(norm(), "fc", "mean"), 3, 1e-9);
}

TEST_P(GeometryLens, ShowsTheLinesAndBandsAskedForAlsoQuantiles) {
  for (const char* inplace : {"true", "false"}) {
    LensWorld& world = make(std::string("{line: [median, max], range: Q1-Q3, inplace: ") + inplace + "}");
    for (float length : {1, 2, 3, 4, 5}) see(world, length, 0);
    const Shown shown = world.tick();
    EXPECT_EQ(shown.value(norm(), "fc", "median"), 3);
    EXPECT_EQ(shown.value(norm(), "fc", "max"), 5);
    EXPECT_FALSE(shown.value(norm(), "fc", "mean"));
    EXPECT_EQ(shown.range(norm(), "fc", "Q1|Q3"), std::pair(2.0, 4.0));
    EXPECT_EQ(shown.ranges.size(), 2u);
  }
}

TEST_P(GeometryLens, IntroducesANormAndABoundedCorrelation) {
  LensWorld& world = make("{log_scale: true}");
  const Shown shown = world.tick();
  const Shown::Tag& norms = shown.tags.at(norm());
  EXPECT_EQ(norms.type, static_cast<uint32_t>(LOUPE_SCALE_NUMERICAL));
  EXPECT_TRUE(norms.log_y);
  EXPECT_FALSE(norms.big);
  EXPECT_EQ(norms.y_minimum, std::nullopt);
  const Shown::Tag& correlations = shown.tags.at(correlation());
  EXPECT_FALSE(correlations.log_y);
  EXPECT_EQ(correlations.y_minimum, -1);
  EXPECT_EQ(correlations.y_maximum, 1);
  EXPECT_FALSE(make().tick().tags.at(norm()).log_y);
}

TEST_P(GeometryLens, SaysNothingAtATickWithoutData) {
  LensWorld& world = make();
  EXPECT_TRUE(world.tick().values.empty());
  see(world, 1, 0);
  EXPECT_FALSE(world.tick().values.empty());
  const Shown shown = world.tick();
  EXPECT_TRUE(shown.values.empty());
  EXPECT_TRUE(shown.ranges.empty());
}

TEST_P(GeometryLens, NamesNanEventsAndKeepsThemOutOfTheMean) {
  LensWorld& world = make();
  see(world, 3, 4);
  see(world, NAN, 4);
  const Shown shown = world.tick();
  EXPECT_EQ(shown.value(norm(), "fc", "mean"), 5);
  EXPECT_EQ(shown.value("Non-Finite Values", "fc", norm() + " NaN"), 1);
  EXPECT_FALSE(shown.value("Non-Finite Values", "fc", norm() + " Inf"));
}

TEST_P(GeometryLens, ForgetsADetachedModule) {
  LensWorld& world = make();
  see(world, 1, 0);
  world.forget("fc");
  EXPECT_TRUE(world.tick().values.empty());
}

INSTANTIATE_TEST_SUITE_P(
    All, GeometryLens,
    testing::Values(Case{"output_gradient_geometry", "", LOUPE_TAP_OUTPUT_GRADIENT, "", "Output Gradient", false},
                    Case{"gradient_geometry", "", LOUPE_TAP_PARAMETER_GRADIENT, "weight", "Weight Gradient", false},
                    Case{"parameter_difference", "", LOUPE_TAP_OPTIMIZER_STEP, "weight", "Weight Update", true}),
    [](const auto& info) { return std::string(info.param.lens); });

TEST(OutputGradientGeometryLens, LooksAtLeavesAndSkipsActivationsUnlessToldNotTo) {
  for (const auto& [yaml, expected] :
       std::vector<std::pair<const char*, Names>>{{"{}", {"fc", "drop"}},
                                                  {"{skip_activation: false}", {"fc", "drop", "act", "fc:relu"}},
                                                  {"{exclude: [Dropout]}", {"fc"}},
                                                  {"{include: [+ReLU]}", {"fc", "drop", "act"}},
                                                  {"{include: ['f*']}", {"fc", "fc:relu"}}}) {
    LensWorld world("output_gradient_geometry", yaml);
    world.add({"", "Net", LOUPE_FAMILY_OTHER, LOUPE_MODULE_ROOT});
    world.add({"fc", "Linear", LOUPE_FAMILY_LINEAR});
    world.add({"drop", "Dropout", LOUPE_FAMILY_DROPOUT});
    world.add({"act", "ReLU", LOUPE_FAMILY_ACTIVATION});
    world.add({"fc:relu", "relu", LOUPE_FAMILY_OTHER, LOUPE_MODULE_FUNCTIONAL});
    world.add({"loss_fn", "MSELoss", LOUPE_FAMILY_LOSS, LOUPE_MODULE_LEAF | LOUPE_MODULE_LOSS});
    EXPECT_EQ(world.watched(LOUPE_TAP_OUTPUT_GRADIENT), expected) << yaml;
  }
}

class ParameterGeometryLens : public testing::TestWithParam<Case> {};

TEST_P(ParameterGeometryLens, ShowsALayerWithoutBiasInTheWeightsPlotsAlone) {
  LensWorld world(GetParam().lens, "{}", GetParam().plugin);
  world.add({"with", "Linear", LOUPE_FAMILY_LINEAR, LOUPE_MODULE_LEAF, {"weight", "bias"}});
  world.add({"without", "Linear", LOUPE_FAMILY_LINEAR, LOUPE_MODULE_LEAF, {"weight"}});
  world.add({"act", "ReLU", LOUPE_FAMILY_ACTIVATION});
  EXPECT_EQ(world.watched(GetParam().tap), (Names{"with/weight", "with/bias", "without/weight"}));
}

TEST_P(ParameterGeometryLens, LooksAtContainersThatOwnAParameter) {
  LensWorld world(GetParam().lens, "{parameters: [scale_factor]}", GetParam().plugin);
  world.add({"", "Net", LOUPE_FAMILY_OTHER, LOUPE_MODULE_ROOT, {"scale_factor"}});
  world.add({"fc", "Linear", LOUPE_FAMILY_LINEAR, LOUPE_MODULE_LEAF, {"weight"}});
  EXPECT_EQ(world.watched(GetParam().tap), Names{"/scale_factor"});
  EXPECT_EQ(world.tick().tags.count("Weight " + std::string(GetParam().title) + " Norm"), 1u);
}

TEST_P(ParameterGeometryLens, LooksAtEveryParameterByDefaultAndShowsItAsWeightOrBias) {
  LensWorld world(GetParam().lens, "{}", GetParam().plugin);
  world.add({"lstm",
             "LSTM",
             LOUPE_FAMILY_RECURRENT,
             LOUPE_MODULE_LEAF,
             {"weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"}});
  world.add({"fc", "Linear", LOUPE_FAMILY_LINEAR, LOUPE_MODULE_LEAF, {"weight", "bias", "lora_a", "lora_b"}});
  world.add({"attention", "MultiheadAttention", LOUPE_FAMILY_ATTENTION, 0, {"in_proj_weight", "in_proj_bias"}});
  EXPECT_EQ(world.watched(GetParam().tap),
            (Names{"lstm/weight_ih_l0", "lstm/weight_hh_l0", "lstm/bias_ih_l0", "lstm/bias_hh_l0", "fc/weight",
                   "fc/bias", "fc/lora_a", "fc/lora_b", "attention/in_proj_weight", "attention/in_proj_bias"}));
  EXPECT_EQ(world.tick().tags.size(), 4u);
  if (GetParam().of_changes) return;
  for (const char* parameter : {"weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"}) {
    world.event(GetParam().tap, "lstm", Tensor({1}, {1}), parameter);
  }
  for (const char* parameter : {"weight", "bias", "lora_a", "lora_b"}) {
    world.event(GetParam().tap, "fc", Tensor({1}, {1}), parameter);
  }
  for (const char* parameter : {"in_proj_weight", "in_proj_bias"}) {
    world.event(GetParam().tap, "attention", Tensor({1}, {1}), parameter);
  }
  const Shown shown = world.tick();
  EXPECT_EQ(shown.layers("Weight Gradient Norm"),
            (Names{"attention", "fc", "fc.lora_a", "fc.lora_b", "lstm.weight_hh_l0", "lstm.weight_ih_l0"}));
  EXPECT_EQ(shown.layers("Bias Gradient Norm"), (Names{"attention", "fc", "lstm.bias_hh_l0", "lstm.bias_ih_l0"}));
}

TEST_P(ParameterGeometryLens, TakesParametersByGlobOrRoleAndModulesByItsFilter) {
  for (const auto& [yaml, expected] : std::vector<std::pair<const char*, Names>>{
           {"{parameters: ['weight_hh_*']}", {"body.lstm/weight_hh_l0"}},
           {"{parameters: [biases]}", {"body.lstm/bias_ih_l0", "fc/bias"}},
           {"{parameters: [weights], exclude: [recurrent]}", {"body/scale", "fc/weight"}},
           {"{include: ['body*']}", {"body/scale", "body.lstm/weight_hh_l0", "body.lstm/bias_ih_l0"}},
           {"{include: [Linear], parameters: weight}", {"fc/weight"}}}) {
    LensWorld world(GetParam().lens, yaml, GetParam().plugin);
    world.add({"body", "Body", LOUPE_FAMILY_OTHER, 0, {"scale"}});
    world.add({"body.lstm", "LSTM", LOUPE_FAMILY_RECURRENT, LOUPE_MODULE_LEAF, {"weight_hh_l0", "bias_ih_l0"}});
    world.add({"fc", "Linear", LOUPE_FAMILY_LINEAR, LOUPE_MODULE_LEAF, {"weight", "bias"}});
    EXPECT_EQ(world.watched(GetParam().tap), expected) << yaml;
  }
}

TEST_P(ParameterGeometryLens, TellsOnceOfAParameterThatNoModuleHas) {
  fake_log().clear();
  LensWorld world(GetParam().lens, "{parameters: [wieght, bias, '*_l0']}", GetParam().plugin);
  world.add({"fc", "Linear", LOUPE_FAMILY_LINEAR, LOUPE_MODULE_LEAF, {"weight", "bias"}});
  world.tick();
  world.tick();
  ASSERT_EQ(fake_log().size(), 2u);
  EXPECT_EQ(fake_log()[0], "no parameter fits 'wieght' given in parameters; did you mean 'weight'?");
  EXPECT_NE(fake_log()[1].find("no parameter fits '*_l0'"), std::string::npos);
}

TEST_P(ParameterGeometryLens, SaysOnceThatAModelWithoutParametersGivesItNothing) {
  fake_log().clear();
  LensWorld world(GetParam().lens, "{}", GetParam().plugin);
  world.add({"act", "ReLU", LOUPE_FAMILY_ACTIVATION});
  world.tick();
  world.tick();
  ASSERT_EQ(fake_log().size(), 1u);
  EXPECT_NE(fake_log()[0].find("it looks at nothing"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Both, ParameterGeometryLens,
                         testing::Values(Case{"parameter_gradient_geometry", "gradient_geometry",
                                              LOUPE_TAP_PARAMETER_GRADIENT, "", "Gradient", false},
                                         Case{"parameter_difference", "", LOUPE_TAP_OPTIMIZER_STEP, "", "Update",
                                              true}),
                         [](const auto& info) { return std::string(info.param.lens); });

TEST(GradientGeometryLens, TakesTheGradientOfTheStepWhenToldTo) {
  LensWorld world("gradient_geometry", "{gradient: step, parameters: weight}");
  world.add({"fc", "Linear", LOUPE_FAMILY_LINEAR, LOUPE_MODULE_LEAF, {"weight", "bias"}});
  EXPECT_EQ(world.watched(LOUPE_TAP_STEP_GRADIENT), Names{"fc/weight"});
  EXPECT_TRUE(world.watched(LOUPE_TAP_PARAMETER_GRADIENT).empty());
}

TEST(ParameterDifferenceLens, AnswersToTheOriginalsName) {
  EXPECT_NO_THROW(LensWorld("parameter_update_geometry", "{}", "parameter_difference"));
}

}  // namespace
}  // namespace loupe::test
