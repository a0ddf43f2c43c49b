#include <gtest/gtest.h>

#include <cmath>

#include "lens_world.h"

namespace loupe::test {
namespace {

using Names = std::vector<std::string>;

constexpr const char* kTag = "Output Norm";
constexpr const char* kComparison = "Mean Output Norm Comparison";

ModuleSpec relu(const std::string& name) {
  return {name, "ReLU", LOUPE_FAMILY_ACTIVATION};
}

TEST(OutputNormLens, LooksAtActivationsAndWhatIsIncluded) {
  for (const auto& [yaml, expected] :
       std::vector<std::pair<const char*, Names>>{{"{}", {"act"}},
                                                  {"{activation: false}", {}},
                                                  {"{include: [+Linear, +Dropout]}", {"fc", "act", "drop"}},
                                                  {"{include: [Linear, Dropout]}", {"fc", "drop"}},
                                                  {"{include: [+Linear], exclude: [ReLU]}", {"fc"}}}) {
    LensWorld world("output_norm", yaml);
    world.add({"fc", "Linear", LOUPE_FAMILY_LINEAR});
    world.add(relu("act"));
    world.add({"drop", "Dropout", LOUPE_FAMILY_DROPOUT});
    EXPECT_EQ(world.watched(LOUPE_TAP_FORWARD), expected) << yaml;
  }
}

TEST(OutputNormLens, ShowsLinesAndBands) {
  LensWorld world("output_norm");
  world.add(relu("act"));
  world.forward("act", Tensor({1, 2}, {3, 4}));
  world.forward("act", Tensor({1, 2}, {0, 1}));
  const Shown shown = world.tick();
  EXPECT_EQ(shown.value(kTag, "act", "mean"), 3);
  EXPECT_EQ(shown.range(kTag, "act", "-σ|+σ"), std::pair(1.0, 5.0));
  EXPECT_EQ(shown.range(kTag, "act", "min|max"), std::pair(1.0, 5.0));
  EXPECT_EQ(shown.ranges.size(), 2u);
}

TEST(OutputNormLens, ShowsQuantilesInPlaceAndFromMemory) {
  for (const char* inplace : {"true", "false"}) {
    LensWorld world("output_norm", std::string("{line: [median, IQR], range: [Q1-Q3], inplace: ") + inplace + "}");
    world.add(relu("act"));
    for (float norm : {1, 2, 3, 4, 5}) world.forward("act", Tensor({1, 1}, {norm}));
    const Shown shown = world.tick();
    EXPECT_EQ(shown.value(kTag, "act", "median"), 3);
    EXPECT_EQ(shown.value(kTag, "act", "IQR"), 2);
    EXPECT_EQ(shown.range(kTag, "act", "Q1|Q3"), std::pair(2.0, 4.0));
  }
}

TEST(OutputNormLens, ComparesLayersAsSharesThatSumToOne) {
  LensWorld world("output_norm");
  world.add(relu("a"));
  world.add(relu("b"));
  world.add(relu("silent"));
  world.forward("a", Tensor({1, 1}, {1}));
  world.forward("b", Tensor({1, 1}, {3}));
  const Shown shown = world.tick();
  EXPECT_EQ(shown.value(kComparison, kComparison, "a"), 0.25);
  EXPECT_EQ(shown.value(kComparison, kComparison, "b"), 0.75);
  EXPECT_FALSE(shown.value(kComparison, kComparison, "silent"));
}

TEST(OutputNormLens, SharesNothingOutWhereAllIsZero) {
  LensWorld world("output_norm");
  world.add(relu("a"));
  world.forward("a", Tensor({1, 1}, {0}));
  EXPECT_EQ(world.tick().value(kComparison, kComparison, "a"), 0);
}

TEST(OutputNormLens, ComparesByTheAggregationToldElseByTheFirstLine) {
  for (const auto& [yaml, tag, share] : std::vector<std::tuple<const char*, const char*, double>>{
           {"{comparison_aggregation: max}", "Max Output Norm Comparison", 3.0 / 5},
           {"{line: [min, mean]}", "Min Output Norm Comparison", 1.0 / 3},
           {"{line: none}", "Mean Output Norm Comparison", 2.0 / 4},
           {"{comparison_aggregation: median, log_scale: true}", "Median Output Log Norm Comparison", 2.0 / 4}}) {
    LensWorld world("output_norm", yaml);
    world.add(relu("a"));
    world.add(relu("b"));
    world.forward("a", Tensor({1, 1}, {1}));
    world.forward("a", Tensor({1, 1}, {3}));
    world.forward("b", Tensor({1, 1}, {2}));
    const Shown shown = world.tick();
    const auto value = shown.value(tag, tag, "a");
    ASSERT_TRUE(value) << yaml;
    EXPECT_DOUBLE_EQ(*value, share) << yaml;
  }
}

TEST(OutputNormLens, IntroducesItsTagsAsTheOptionsSay) {
  const Shown plain = LensWorld("output_norm").tick();
  ASSERT_EQ(plain.tags.size(), 2u);
  EXPECT_EQ(plain.tags.at(kTag).type, static_cast<uint32_t>(LOUPE_SCALE_NUMERICAL));
  EXPECT_FALSE(plain.tags.at(kTag).log_y);
  EXPECT_EQ(plain.tags.at(kComparison).type, static_cast<uint32_t>(LOUPE_SCALE_RELATION));
  EXPECT_TRUE(plain.tags.at(kComparison).big);
  const Shown other = LensWorld("output_norm", "{log_scale: true, comparison_plot: false}").tick();
  ASSERT_EQ(other.tags.size(), 1u);
  EXPECT_TRUE(other.tags.at(kTag).log_y);
}

TEST(OutputNormLens, HandsItsOptionsOn) {
  LensWorld normalized("output_norm", "{normalize_by_size: true}");
  LensWorld both("output_norm", "{record_eval: true}");
  LensWorld by_gradients("output_norm", "{evaluation_from_grad: true}");
  for (LensWorld* world : {&normalized, &both, &by_gradients}) world->add(relu("act"));
  normalized.forward("act", Tensor({1, 4}, {2, 2, 2, 2}));
  both.forward("act", Tensor({1, 1}, {7}), kEvaluation);
  by_gradients.forward("act", Tensor({1, 1}, {7}), LOUPE_EVENT_TRAINING);
  EXPECT_EQ(normalized.tick().value(kTag, "act", "mean"), 2);
  EXPECT_EQ(both.tick().value(kTag, "act", "mean"), 7);
  EXPECT_TRUE(by_gradients.tick().values.empty());
}

TEST(OutputNormLens, LeavesALayerOfNanOutOfTheComparisonAndNamesIt) {
  LensWorld world("output_norm");
  world.add(relu("bad"));
  world.add(relu("good"));
  world.forward("bad", Tensor({1, 1}, {NAN}));
  world.forward("good", Tensor({1, 1}, {2}));
  const Shown shown = world.tick();
  EXPECT_EQ(shown.value(kComparison, kComparison, "good"), 1);
  EXPECT_FALSE(shown.value(kComparison, kComparison, "bad"));
  EXPECT_EQ(shown.value("Non-Finite Values", "bad", "Output Norm NaN"), 1);
}

TEST(OutputNormLens, ForgetsADetachedModule) {
  LensWorld world("output_norm");
  world.add(relu("gone"));
  world.add(relu("kept"));
  world.forward("gone", Tensor({1, 1}, {1}));
  world.forward("kept", Tensor({1, 1}, {1}));
  world.forget("gone");
  const Shown shown = world.tick();
  EXPECT_EQ(shown.layers(kTag), Names{"kept"});
  EXPECT_EQ(shown.value(kComparison, kComparison, "kept"), 1);
}

}  // namespace
}  // namespace loupe::test
