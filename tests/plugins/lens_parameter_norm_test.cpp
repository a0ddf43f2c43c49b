#include <gtest/gtest.h>

#include <cmath>

#include "lens_world.h"

namespace loupe::test {
namespace {

using Names = std::vector<std::string>;

ModuleSpec linear(const std::string& name, std::vector<std::string> parameters = {"weight", "bias"}) {
  return {name, "Linear", LOUPE_FAMILY_LINEAR, LOUPE_MODULE_LEAF, std::move(parameters)};
}

TEST(ParameterNormLens, ShowsTheNormOfEachParameterAtTheTick) {
  LensWorld world("parameter_norm");
  world.add(linear("fc"));
  world.event(LOUPE_TAP_TICK, "fc", Tensor({2, 2}, {1, 1, 1, 1}), "weight");
  world.event(LOUPE_TAP_TICK, "fc", Tensor({2}, {3, 4}), "bias");
  const Shown shown = world.tick();
  EXPECT_EQ(shown.value("Weight Norm", "fc", "mean"), 2);
  EXPECT_EQ(shown.value("Bias Norm", "fc", "mean"), 5);
  EXPECT_TRUE(shown.ranges.empty());
}

TEST(ParameterNormLens, ComparesLayersAsSharesThatSumToOne) {
  LensWorld world("parameter_norm");
  world.add(linear("a"));
  world.add(linear("b", {"weight"}));
  world.event(LOUPE_TAP_TICK, "a", Tensor({1}, {1}), "weight");
  world.event(LOUPE_TAP_TICK, "a", Tensor({1}, {1}), "bias");
  world.event(LOUPE_TAP_TICK, "b", Tensor({1}, {3}), "weight");
  const Shown shown = world.tick();
  const std::string weight = "Weight Norm Comparison";
  EXPECT_EQ(shown.value(weight, weight, "a"), 0.25);
  EXPECT_EQ(shown.value(weight, weight, "b"), 0.75);
  const std::string bias = "Bias Norm Comparison";
  EXPECT_EQ(shown.value(bias, bias, "a"), 1);
  EXPECT_FALSE(shown.value(bias, bias, "b"));
}

TEST(ParameterNormLens, NormalizesAndNamesItsLineAfterTheAggregation) {
  LensWorld world("parameter_norm", "{normalize_by_size: true, aggregation_method: median, inplace: false}");
  world.add(linear("fc"));
  world.event(LOUPE_TAP_TICK, "fc", Tensor({4}, {2, 2, 2, 2}), "weight");
  EXPECT_EQ(world.tick().value("Weight Norm", "fc", "median"), 2);
}

TEST(ParameterNormLens, IntroducesItsTagsAsTheOptionsSay) {
  const auto introduced = [](const char* yaml) {
    LensWorld world("parameter_norm", yaml);
    world.add(linear("fc"));
    return world.tick();
  };
  const Shown plain = introduced("{}");
  ASSERT_EQ(plain.tags.size(), 4u);
  EXPECT_EQ(plain.tags.at("Weight Norm").type, static_cast<uint32_t>(LOUPE_SCALE_NUMERICAL));
  EXPECT_FALSE(plain.tags.at("Bias Norm").log_y);
  EXPECT_EQ(plain.tags.at("Bias Norm Comparison").type, static_cast<uint32_t>(LOUPE_SCALE_RELATION));
  const Shown log = introduced("{log_scale: true}");
  EXPECT_TRUE(log.tags.at("Weight Norm").log_y);
  EXPECT_EQ(log.tags.count("Weight Log Norm Comparison"), 1u);
  const Shown alone = introduced("{comparison_plot: false, parameters: [biases]}");
  ASSERT_EQ(alone.tags.size(), 1u);
  EXPECT_EQ(alone.tags.count("Bias Norm"), 1u);
}

TEST(ParameterNormLens, WatchesEachModuleThatOwnsAParameter) {
  LensWorld world("parameter_norm");
  world.add({"", "Net", LOUPE_FAMILY_OTHER, LOUPE_MODULE_ROOT, {"bias"}});
  world.add(linear("fc"));
  world.add({"loss_fn", "Loss", LOUPE_FAMILY_LOSS, LOUPE_MODULE_LEAF | LOUPE_MODULE_LOSS, {"weight"}});
  EXPECT_EQ(world.watched(LOUPE_TAP_TICK), (Names{"/bias", "fc/weight", "fc/bias"}));
}

TEST(ParameterNormLens, NamesInfAndForgetsADetachedModule) {
  LensWorld world("parameter_norm");
  world.add(linear("fc"));
  world.add(linear("other"));
  world.event(LOUPE_TAP_TICK, "fc", Tensor({1}, {INFINITY}), "weight");
  world.event(LOUPE_TAP_TICK, "other", Tensor({1}, {1}), "weight");
  const Shown shown = world.tick();
  EXPECT_EQ(shown.value("Non-Finite Values", "fc", "Weight Norm Inf"), 1);
  EXPECT_EQ(shown.value("Weight Norm Comparison", "Weight Norm Comparison", "other"), 1);
  world.forget("fc");
  world.event(LOUPE_TAP_TICK, "other", Tensor({1}, {1}), "weight");
  EXPECT_EQ(world.tick().layers("Weight Norm"), Names{"other"});
}

}  // namespace
}  // namespace loupe::test
