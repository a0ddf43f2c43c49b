#include <gtest/gtest.h>

#include <cmath>

#include "lens_world.h"

namespace loupe::test {
namespace {

using Names = std::vector<std::string>;

class UpdateRatioLens : public testing::Test {
 protected:
  LensWorld& make(const std::string& yaml = "{}") {
    LensWorld& world = world_.emplace("update_ratio", yaml);
    world.add({"fc", "Linear", LOUPE_FAMILY_LINEAR, LOUPE_MODULE_LEAF, {"weight", "bias"}});
    return world;
  }
  void step_to(float x, float y, const std::string& parameter = "weight") {
    world_->event(LOUPE_TAP_OPTIMIZER_STEP, "fc", Tensor({2}, {x, y}), parameter);
  }

 private:
  std::optional<LensWorld> world_;
};

TEST_F(UpdateRatioLens, DividesTheNormOfAStepByThatOfTheParameter) {
  LensWorld& world = make();
  world.prime("fc", "weight", Tensor({2}, {0, 10}));
  step_to(6, 8);  // moved by (6, -2) to a length of 10
  step_to(3, 4);  // by (-3, -4) to 5
  const Shown shown = world.tick();
  const double first = std::sqrt(40.0) / 10;
  EXPECT_NEAR(*shown.value("Weight Update Ratio", "fc", "mean"), (first + 1) / 2, 1e-6);
  EXPECT_NEAR(*shown.value("Weight Update Ratio", "fc", "max"), 1, 1e-6);
  EXPECT_TRUE(shown.layers("Bias Update Ratio").empty());
  EXPECT_TRUE(shown.ranges.empty());
}

TEST_F(UpdateRatioLens, GoesOnOverATick) {
  LensWorld& world = make();
  step_to(3, 4);
  EXPECT_TRUE(world.tick().values.empty());  // nothing was before
  step_to(6, 8);
  EXPECT_NEAR(*world.tick().value("Weight Update Ratio", "fc", "mean"), 0.5, 1e-6);
}

TEST_F(UpdateRatioLens, ShowsAFrozenParameterAsUnmovedAndNoneOfZeros) {
  LensWorld& world = make();
  world.prime("fc", "weight", Tensor({2}, {1, 1}));
  world.prime("fc", "bias", Tensor({2}, {0, 0}));
  step_to(1, 1);
  step_to(0, 0, "bias");
  const Shown shown = world.tick();
  EXPECT_EQ(shown.value("Weight Update Ratio", "fc", "mean"), 0);
  EXPECT_FALSE(shown.value("Bias Update Ratio", "fc", "mean"));
}

TEST_F(UpdateRatioLens, NamesNanStepsAndTakesNoRatioFromThem) {
  LensWorld& world = make();
  world.prime("fc", "weight", Tensor({2}, {3, 4}));
  step_to(NAN, 4);
  step_to(3, 4);
  step_to(6, 8);
  const Shown shown = world.tick();
  EXPECT_NEAR(*shown.value("Weight Update Ratio", "fc", "mean"), 0.5, 1e-6);
  EXPECT_EQ(shown.value("Non-Finite Values", "fc", "Weight Update Ratio NaN"), 1);
}

TEST_F(UpdateRatioLens, IntroducesALogarithmicPlotWithWhatIsHealthy) {
  const Shown::Tag tag = make().tick().tags.at("Weight Update Ratio");
  EXPECT_TRUE(tag.log_y);
  EXPECT_FALSE(tag.big);
  EXPECT_NE(tag.healthy.find("1e-4 and 1e-2"), std::string::npos) << tag.healthy;
  EXPECT_FALSE(make("{log_scale: false}").tick().tags.at("Weight Update Ratio").log_y);
}

TEST_F(UpdateRatioLens, LooksAtTheParametersAndModulesAskedForAndShowsQuantiles) {
  EXPECT_EQ(make("{parameters: biases}").watched(LOUPE_TAP_OPTIMIZER_STEP), Names{"fc/bias"});
  EXPECT_EQ(make("{exclude: [Linear]}").watched(LOUPE_TAP_OPTIMIZER_STEP), Names{});
  LensWorld& world = make("{line: median, range: Q1-Q3}");
  world.prime("fc", "weight", Tensor({2}, {0, 0}));
  for (const float length : {1.0F, 2.0F, 4.0F}) step_to(length, 0);
  const Shown shown = world.tick();
  EXPECT_EQ(shown.value("Weight Update Ratio", "fc", "median"), 0.5);
  EXPECT_EQ(shown.range("Weight Update Ratio", "fc", "Q1|Q3"), std::pair(0.5, 0.75));
}

TEST_F(UpdateRatioLens, ForgetsADetachedModule) {
  LensWorld& world = make();
  world.prime("fc", "weight", Tensor({2}, {1, 1}));
  step_to(2, 2);
  world.forget("fc");
  EXPECT_TRUE(world.tick().values.empty());
}

}  // namespace
}  // namespace loupe::test
