#include <gtest/gtest.h>

#include "lens_world.h"

namespace loupe::test {
namespace {

class InplaceOption : public testing::TestWithParam<const char*> {
 protected:
  static void expect_kept(const std::string& yaml, bool kept) {
    LensWorld world(GetParam(), yaml);
    world.add({"act", "ReLU", LOUPE_FAMILY_ACTIVATION});
    world.add({"fc", "Linear", LOUPE_FAMILY_LINEAR, LOUPE_MODULE_LEAF, {"weight", "bias"}});
    EXPECT_EQ(world.keeps_values(), kept) << yaml;
  }
};

TEST_P(InplaceOption, FoldsValuesUnlessItIsOff) {
  expect_kept("{}", false);
  expect_kept("{inplace: true}", false);
  expect_kept("{inplace: false}", true);
}

INSTANTIATE_TEST_SUITE_P(Lenses, InplaceOption,
                         testing::Values("output_activation", "output_norm", "output_gradient_geometry",
                                         "gradient_geometry", "parameter_gradient_activation", "parameter_norm",
                                         "parameter_difference", "parameter_condition", "update_ratio"),
                         [](const auto& info) { return std::string(info.param); });

TEST(LossFnInplaceOption, FoldsALossModulesValuesUnlessItIsOff) {
  for (const bool inplace : {true, false}) {
    LensWorld world("loss_metrics", inplace ? "{}" : "{loss_fn_inplace: false}");
    world.add({"loss_fn", "MSELoss", LOUPE_FAMILY_LOSS, LOUPE_MODULE_LEAF | LOUPE_MODULE_LOSS});
    EXPECT_EQ(world.keeps_values(), !inplace);
  }
}

}  // namespace
}  // namespace loupe::test
