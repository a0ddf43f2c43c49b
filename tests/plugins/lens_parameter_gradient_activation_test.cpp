#include <gtest/gtest.h>

#include <cmath>

#include "lens_world.h"

namespace loupe::test {
namespace {

using Names = std::vector<std::string>;

constexpr const char* kWeight = "Weight Gradient Activation";
constexpr const char* kBias = "Bias Gradient Activation";
constexpr const char* kWarning = "Worst Gradient Activations";

ModuleSpec linear(const std::string& name, std::vector<std::string> parameters = {"weight", "bias"}) {
  return {name, "Linear", LOUPE_FAMILY_LINEAR, LOUPE_MODULE_LEAF, std::move(parameters)};
}

TEST(ParameterGradientActivationLens, ShowsEachParametersRatesAndTheWorstOfAll) {
  LensWorld world("parameter_gradient_activation");
  world.add(linear("fc"));
  world.event(LOUPE_TAP_PARAMETER_GRADIENT, "fc", Tensor({2, 2}, {1, 1, 1, 0}), "weight");
  world.event(LOUPE_TAP_PARAMETER_GRADIENT, "fc", Tensor({2}, {1, 0}), "bias");
  const Shown shown = world.tick();
  EXPECT_EQ(shown.value(kWeight, "fc", "activation_rate"), 0.75);
  EXPECT_EQ(shown.value(kWeight, "fc", "death_rate"), 0);
  EXPECT_EQ(shown.value(kBias, "fc", "activation_rate"), 0.5);
  EXPECT_EQ(shown.value(kBias, "fc", "death_rate"), 0.5);
  EXPECT_EQ(shown.value(kWarning, kWarning, "worst activation_rate"), 0.5);
  EXPECT_EQ(shown.value(kWarning, kWarning, "worst death_rate"), 0.5);
}

TEST(ParameterGradientActivationLens, StartsTheWorstAnewEachEpoch) {
  LensWorld world("parameter_gradient_activation");
  world.add(linear("fc"));
  world.event(LOUPE_TAP_PARAMETER_GRADIENT, "fc", Tensor({2}, {0, 0}), "bias");
  world.tick();
  world.event(LOUPE_TAP_PARAMETER_GRADIENT, "fc", Tensor({2}, {1, 1}), "bias");
  const Shown shown = world.tick();
  EXPECT_EQ(shown.value(kWarning, kWarning, "worst activation_rate"), 1);
  EXPECT_EQ(shown.value(kWarning, kWarning, "worst death_rate"), 0);
  EXPECT_TRUE(world.tick().values.empty());
}

TEST(ParameterGradientActivationLens, IntroducesAPlotAParameterAndTheWarnings) {
  LensWorld world("parameter_gradient_activation"),
      biases("parameter_gradient_activation", "{warning_plot: false, parameters: bias}");
  for (LensWorld* each : {&world, &biases}) each->add(linear("fc"));
  const Shown shown = world.tick();
  ASSERT_EQ(shown.tags.size(), 3u);
  for (const char* tag : {kWeight, kBias, kWarning}) {
    EXPECT_EQ(shown.tags.at(tag).type, static_cast<uint32_t>(LOUPE_SCALE_PROBABILITY)) << tag;
  }
  EXPECT_TRUE(shown.tags.at(kWarning).big);
  EXPECT_EQ(biases.tick().tags.size(), 1u);
}

TEST(ParameterGradientActivationLens, AggregatesAsTold) {
  LensWorld world("parameter_gradient_activation", "{activation_aggregation: min, death_aggregation: Q3}");
  world.add(linear("fc"));
  for (const Tensor& gradient : {Tensor({2}, {1, 1}), Tensor({2}, {0, 1}), Tensor({2}, {0, 0})}) {
    world.event(LOUPE_TAP_PARAMETER_GRADIENT, "fc", gradient, "bias");
  }
  const Shown shown = world.tick();
  EXPECT_EQ(shown.value(kBias, "fc", "activation_rate"), 0);
  EXPECT_EQ(shown.value(kBias, "fc", "death_rate"), 0.75);
}

TEST(ParameterGradientActivationLens, ShowsALayerWithoutBiasInTheWeightsPlotAlone) {
  LensWorld world("parameter_gradient_activation");
  world.add(linear("fc", {"weight"}));
  EXPECT_EQ(world.watched(LOUPE_TAP_PARAMETER_GRADIENT), Names{"fc/weight"});
}

TEST(ParameterGradientActivationLens, TakesTheGradientOfTheStepWhenToldTo) {
  LensWorld world("parameter_gradient_activation", "{gradient: step}");
  world.add(linear("fc"));
  EXPECT_EQ(world.watched(LOUPE_TAP_STEP_GRADIENT), (Names{"fc/weight", "fc/bias"}));
}

TEST(ParameterGradientActivationLens, NamesNanEventsAndForgetsADetachedModule) {
  LensWorld world("parameter_gradient_activation");
  world.add(linear("fc"));
  world.event(LOUPE_TAP_PARAMETER_GRADIENT, "fc", Tensor({2}, {NAN, 1}), "bias");
  const Shown shown = world.tick();
  EXPECT_EQ(shown.value("Non-Finite Values", "fc", "Bias Gradient Activation NaN"), 1);
  EXPECT_FALSE(shown.value(kWarning, kWarning, "worst activation_rate"));
  world.event(LOUPE_TAP_PARAMETER_GRADIENT, "fc", Tensor({2}, {1, 1}), "bias");
  world.forget("fc");
  EXPECT_TRUE(world.tick().values.empty());
}

}  // namespace
}  // namespace loupe::test
