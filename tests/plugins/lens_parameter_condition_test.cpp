#include <gtest/gtest.h>

#include <cmath>

#include "lens_world.h"

namespace loupe::test {
namespace {

using Names = std::vector<std::string>;

constexpr const char* kTag = "Weight Condition Number";

ModuleSpec linear(const std::string& name) {
  return {name, "Linear", LOUPE_FAMILY_LINEAR, LOUPE_MODULE_LEAF, {"weight", "bias"}};
}

TEST(ParameterConditionLens, ShowsTheConditionNumberOfWeightsAtTheTick) {
  LensWorld world("parameter_condition");
  world.add(linear("fc"));
  EXPECT_EQ(world.watched(LOUPE_TAP_TICK), Names{"fc/weight"});
  world.event(LOUPE_TAP_TICK, "fc", Tensor({2, 2}, {8, 0, 0, 2}), "weight");
  EXPECT_NEAR(*world.tick().value(kTag, "fc", "mean"), 4, 1e-9);
}

TEST(ParameterConditionLens, NamesItsLineAfterTheAggregation) {
  LensWorld world("parameter_condition", "{aggregation: Q1, inplace: true}");
  world.add(linear("fc"));
  world.event(LOUPE_TAP_TICK, "fc", Tensor({2, 2}, {3, 0, 0, 1}), "weight");
  EXPECT_NEAR(*world.tick().value(kTag, "fc", "Q1"), 3, 1e-9);
}

TEST(ParameterConditionLens, NamesASingularMatrixAsInfinite) {
  LensWorld world("parameter_condition");
  world.add(linear("fc"));
  world.event(LOUPE_TAP_TICK, "fc", Tensor({2, 2}, {3, 0, 0, 0}), "weight");
  const Shown shown = world.tick();
  EXPECT_EQ(shown.value("Non-Finite Values", "fc", "Weight Condition Number Inf"), 1);
  EXPECT_TRUE(std::isnan(shown.value(kTag, "fc", "mean").value_or(NAN)));
}

TEST(ParameterConditionLens, SaysNothingOfAVector) {
  LensWorld world("parameter_condition");
  world.add({"norm", "BatchNorm1d", LOUPE_FAMILY_NORMALIZATION, LOUPE_MODULE_LEAF, {"weight", "bias"}});
  world.event(LOUPE_TAP_TICK, "norm", Tensor({2}, {1, 1}), "weight");
  EXPECT_TRUE(world.tick().values.empty());
}

TEST(ParameterConditionLens, IntroducesATagAParameterOnALogarithmicAxisWhenToldTo) {
  for (const bool log_scale : {false, true}) {
    LensWorld world("parameter_condition", log_scale ? "{log_scale: true, parameters: [weight, kernel]}" : "{}");
    world.add({"fc", "Custom", LOUPE_FAMILY_OTHER, LOUPE_MODULE_LEAF, {"weight", "kernel", "bias"}});
    const Shown shown = world.tick();
    ASSERT_EQ(shown.tags.size(), 1u);
    EXPECT_EQ(shown.tags.at(kTag).log_y, log_scale);
  }
}

TEST(ParameterConditionLens, ForgetsADetachedModule) {
  LensWorld world("parameter_condition");
  world.add(linear("fc"));
  world.event(LOUPE_TAP_TICK, "fc", Tensor({2, 2}, {8, 0, 0, 2}), "weight");
  world.forget("fc");
  EXPECT_TRUE(world.tick().values.empty());
}

}  // namespace
}  // namespace loupe::test
