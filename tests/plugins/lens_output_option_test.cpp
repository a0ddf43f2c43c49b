// The option `output`: which output of a module that gives several.

#include <gtest/gtest.h>

#include "lens_world.h"

namespace loupe::test {
namespace {

struct Case {
  const char* lens;
  uint32_t tap;
  const char* options;
};

class OutputOption : public testing::TestWithParam<Case> {
 protected:
  /// How many numbers a lens shows that was given one output of each of two kinds: 0 and 1.
  static std::size_t shown(const std::string& output) {
    LensWorld world(GetParam().lens, std::string("{include: [MultiheadAttention]") + GetParam().options + output + "}");
    world.add({"attention", "MultiheadAttention", LOUPE_FAMILY_ATTENTION});
    world.event(GetParam().tap, "attention", Tensor({1, 2}, {3, 4}), "", kTraining, 1);
    const Shown all = world.tick();
    return all.values.size() + all.histograms.size();
  }
};

TEST_P(OutputOption, ChoosesTheOutputThatIsLookedAt) {
  EXPECT_GT(shown(", output: 1"), 0U);
  EXPECT_EQ(shown(", output: 2"), 0U);
  EXPECT_EQ(shown(""), 0U);
}

INSTANTIATE_TEST_SUITE_P(Lenses, OutputOption,
                         testing::Values(Case{"output_activation", LOUPE_TAP_FORWARD, ""},
                                         Case{"output_norm", LOUPE_TAP_FORWARD, ""},
                                         Case{"output_gradient_geometry", LOUPE_TAP_OUTPUT_GRADIENT, ""},
                                         Case{"histograms", LOUPE_TAP_FORWARD, ", parameters: none"}),
                         [](const auto& info) { return std::string(info.param.lens); });

TEST(OutputActivationLens, CountsAsActiveWhatIsAboveEps) {
  LensWorld world("output_activation", "{eps: 0.5}");
  world.add({"act", "ReLU", LOUPE_FAMILY_ACTIVATION});
  world.forward("act", Tensor({1, 4}, {0.4F, 0.5F, 0.6F, -2}));
  const Shown shown = world.tick();
  EXPECT_EQ(shown.value("Output Activations", "act", "activation_rate"), 0.5);
  EXPECT_EQ(shown.value("Output Activations", "act", "death_rate"), 0.5);
}

}  // namespace
}  // namespace loupe::test
