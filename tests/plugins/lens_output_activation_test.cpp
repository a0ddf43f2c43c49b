#include <gtest/gtest.h>

#include <cmath>

#include "lens_world.h"

namespace loupe::test {
namespace {

using Names = std::vector<std::string>;

constexpr const char* kTag = "Output Activations";
constexpr const char* kWarning = "Worst Output Activations";

ModuleSpec relu(const std::string& name) {
  return {name, "ReLU", LOUPE_FAMILY_ACTIVATION};
}
ModuleSpec linear(const std::string& name) {
  return {name, "Linear", LOUPE_FAMILY_LINEAR};
}
ModuleSpec dropout(const std::string& name) {
  return {name, "Dropout", LOUPE_FAMILY_DROPOUT};
}

/// What the lens looks at in a model with one of everything.
Names looked_at(const std::string& yaml) {
  LensWorld world("output_activation", yaml);
  world.add({"", "Net", LOUPE_FAMILY_OTHER, LOUPE_MODULE_ROOT});
  world.add({"body", "Sequential", LOUPE_FAMILY_OTHER, 0});
  world.add(linear("body.fc"));
  world.add(relu("body.act"));
  world.add(dropout("body.drop"));
  world.add({"body.fc:relu", "relu", LOUPE_FAMILY_ACTIVATION, LOUPE_MODULE_FUNCTIONAL | LOUPE_MODULE_TAPPED});
  world.add({"loss_fn", "CrossEntropyLoss", LOUPE_FAMILY_LOSS, LOUPE_MODULE_LEAF | LOUPE_MODULE_LOSS});
  return world.watched(LOUPE_TAP_FORWARD);
}

TEST(OutputActivationLens, LooksAtActivationsFunctionsAndDropoutsByDefault) {
  EXPECT_EQ(looked_at("{}"), (Names{"body.act", "body.drop", "body.fc:relu"}));
}

TEST(OutputActivationLens, LeavesFamiliesOutWhenToldTo) {
  EXPECT_EQ(looked_at("{dropout: false}"), (Names{"body.act", "body.fc:relu"}));
  EXPECT_EQ(looked_at("{activation: false}"), Names{"body.drop"});
}

TEST(OutputActivationLens, IncludesTypesFamiliesAndGlobsOfNames) {
  for (const char* entry :
       {"Linear", "torch::nn::LinearImpl", "linear", "body.fc", "'*.fc'", "'body.[e-g]c'", "'Lin*'"}) {
    EXPECT_EQ(looked_at(std::string("{include: [") + entry + "]}"), Names{"body.fc"}) << entry;
  }
  EXPECT_EQ(looked_at("{include: [Linear, dropout]}"), (Names{"body.fc", "body.drop"}));
}

TEST(OutputActivationLens, AddsWhatIncludeNamesAfterAPlus) {
  const Names with_linear = {"body.fc", "body.act", "body.drop", "body.fc:relu"};
  for (const char* entry : {"+Linear", "+torch::nn::LinearImpl", "+linear", "+body.fc", "'+*.fc'"}) {
    EXPECT_EQ(looked_at(std::string("{include: [") + entry + "]}"), with_linear) << entry;
  }
  EXPECT_EQ(looked_at("{dropout: false, include: [+Linear]}"), (Names{"body.fc", "body.act", "body.fc:relu"}));
  EXPECT_EQ(looked_at("{include: [Dropout, +Linear]}"), (Names{"body.fc", "body.drop"}));
}

TEST(OutputActivationLens, LetsExcludeWin) {
  EXPECT_EQ(looked_at("{include: [+Linear], exclude: ['body.fc*']}"), (Names{"body.act", "body.drop"}));
  EXPECT_EQ(looked_at("{exclude: [activation]}"), Names{"body.drop"});
}

TEST(OutputActivationLens, TakesAContainerOnlyWhereItIsNamed) {
  EXPECT_EQ(looked_at("{activation: false, dropout: false, include: ['*']}"),
            (Names{"body.fc", "body.act", "body.drop", "body.fc:relu"}));
  EXPECT_EQ(looked_at("{activation: false, dropout: false, include: [Sequential]}"), Names{"body"});
}

TEST(OutputActivationLens, NeverTakesALossModule) {
  EXPECT_EQ(looked_at("{activation: false, dropout: false, include: [CrossEntropyLoss, loss_fn, loss]}"), Names{});
}

TEST(OutputActivationLens, WarnsOnceOfAnEntryThatNothingMatches) {
  fake_log().clear();
  LensWorld world("output_activation", "{include: [Liner, ReLU], exclude: [nowhere]}");
  world.add(linear("fc"));
  world.add(relu("act"));
  world.tick();
  world.tick();
  ASSERT_EQ(fake_log().size(), 2u);
  EXPECT_EQ(fake_log()[0], "no module fits 'Liner' given in include; did you mean 'Linear'?");
  EXPECT_EQ(fake_log()[1],
            "no module fits 'nowhere' given in exclude; there are: Linear, ReLU, act, activation, "
            "fc, linear");
}

/// What the lens says at the ticks of a model of a Linear and a ReLU.
std::vector<std::string> said(const std::string& lens, const std::string& yaml) {
  fake_log().clear();
  LensWorld world(lens, yaml);
  world.tick();  // before any module is attached
  world.add(linear("fc"));
  world.add(relu("act"));
  world.tick();
  world.tick();
  return fake_log();
}

TEST(OutputActivationLens, SaysOnceThatItLooksAtNothing) {
  const std::vector<std::string> told = said("output_activation", "{activation: false}");
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0],
            "it looks at nothing, so it shows nothing: nothing in the model's 2 modules fits its "
            "options; include names modules by type (here Linear, ReLU), family or name");
  EXPECT_TRUE(said("output_activation", "{}").empty());
}

TEST(OutputActivationLens, DoesNotSayThatItLooksAtNothingWhereWhatItLookedAtIsGone) {
  fake_log().clear();
  LensWorld world("output_activation");
  world.add(relu("act"));
  world.forget("act");
  world.tick();
  EXPECT_TRUE(fake_log().empty()) << fake_log()[0];
}

TEST(OutputActivationLens, SaysOnceThatIncludeTookThePlaceOfWhatItLooksAtByDefault) {
  const std::vector<std::string> told = said("output_activation", "{include: [Linear]}");
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("in place of the module that it looks at otherwise; an entry written with a +"),
            std::string::npos);
  for (const char* clear :
       {"{include: [+Linear]}", "{include: [Linear, ReLU]}", "{include: [Linear], activation: false}"}) {
    EXPECT_TRUE(said("output_activation", clear).empty()) << clear;
  }
}

TEST(OutputActivationLens, IntroducesProbabilities) {
  LensWorld world("output_activation");
  const Shown shown = world.tick();
  ASSERT_EQ(shown.tags.size(), 2u);
  EXPECT_EQ(shown.tags.at(kTag).type, static_cast<uint32_t>(LOUPE_SCALE_PROBABILITY));
  EXPECT_FALSE(shown.tags.at(kTag).big);
  EXPECT_EQ(shown.tags.at(kWarning).type, static_cast<uint32_t>(LOUPE_SCALE_PROBABILITY));
  EXPECT_TRUE(shown.tags.at(kWarning).big);
}

TEST(OutputActivationLens, ShowsEachLayersRatesAndTheWorstOfAll) {
  LensWorld world("output_activation");
  world.add(relu("first"));
  world.add(relu("second"));
  world.forward("first", Tensor({1, 4}, {1, 1, 1, 0}));
  world.forward("second", Tensor({2, 2}, {1, 0, 1, 0}));
  const Shown shown = world.tick();
  EXPECT_EQ(shown.value(kTag, "first", "activation_rate"), 0.75);
  EXPECT_EQ(shown.value(kTag, "first", "death_rate"), 0.25);
  EXPECT_EQ(shown.value(kTag, "second", "activation_rate"), 0.5);
  EXPECT_EQ(shown.value(kTag, "second", "death_rate"), 0.5);
  EXPECT_EQ(shown.value(kWarning, kWarning, "worst activation_rate"), 0.5);
  EXPECT_EQ(shown.value(kWarning, kWarning, "worst death_rate"), 0.5);
}

TEST(OutputActivationLens, AggregatesAnEpochAsToldAlsoByQuantiles) {
  for (const char* inplace : {"true", "false"}) {
    LensWorld world("output_activation",
                    std::string("{activation_aggregation: median, death_aggregation: max, inplace: ") + inplace + "}");
    world.add(relu("act"));
    for (const Tensor& batch : {Tensor({1, 2}, {1, 1}), Tensor({1, 2}, {0, 1}), Tensor({1, 2}, {1, 1})}) {
      world.forward("act", batch);
    }
    const Shown shown = world.tick();
    EXPECT_EQ(shown.value(kTag, "act", "activation_rate"), 1);
    EXPECT_EQ(shown.value(kTag, "act", "death_rate"), 0.5);
  }
}

TEST(OutputActivationLens, LeavesTheWarningPlotOutWhenToldTo) {
  LensWorld world("output_activation", "{warning_plot: false}");
  world.add(relu("act"));
  world.forward("act", Tensor({1, 1}, {1}));
  const Shown shown = world.tick();
  EXPECT_EQ(shown.tags.count(kWarning), 0u);
  EXPECT_TRUE(shown.layers(kWarning).empty());
}

TEST(OutputActivationLens, HandsItsPassOptionsOn) {
  LensWorld training("output_activation");
  LensWorld both("output_activation", "{record_eval: true}");
  LensWorld by_gradients("output_activation", "{evaluation_from_grad: true}");
  LensWorld last("output_activation", "{channel_last: true}");
  for (LensWorld* world : {&training, &both, &by_gradients, &last}) world->add(relu("act"));
  training.forward("act", Tensor({1, 1}, {1}), kEvaluation);
  both.forward("act", Tensor({1, 1}, {1}), kEvaluation);
  by_gradients.forward("act", Tensor({1, 1}, {1}), LOUPE_EVENT_TRAINING);
  last.forward("act", Tensor({1, 2, 2}, {1, 0, 1, 0}));
  EXPECT_TRUE(training.tick().values.empty());
  EXPECT_EQ(both.tick().value(kTag, "act", "activation_rate"), 1);
  EXPECT_TRUE(by_gradients.tick().values.empty());
  EXPECT_EQ(last.tick().value(kTag, "act", "death_rate"), 0.5);
}

TEST(OutputActivationLens, SaysNothingOfALayerThatSawNothing) {
  LensWorld world("output_activation");
  world.add(relu("used"));
  world.add(relu("skipped"));
  world.forward("used", Tensor({1, 1}, {1}));
  EXPECT_EQ(world.tick().layers(kTag), Names{"used"});
  EXPECT_TRUE(world.tick().values.empty());
}

TEST(OutputActivationLens, ForgetsADetachedModule) {
  LensWorld world("output_activation");
  world.add(relu("gone"));
  world.add(relu("kept"));
  world.forward("gone", Tensor({1, 1}, {0}));
  world.forward("kept", Tensor({1, 1}, {1}));
  world.forget("gone");
  const Shown shown = world.tick();
  EXPECT_EQ(shown.layers(kTag), Names{"kept"});
  EXPECT_EQ(shown.value(kWarning, kWarning, "worst activation_rate"), 1);
}

TEST(OutputActivationLens, NamesNanEventsAndKeepsThemOutOfTheWorst) {
  LensWorld world("output_activation");
  world.add(relu("bad"));
  world.add(relu("good"));
  EXPECT_EQ(world.tick().tags.count("Non-Finite Values"), 0u);
  world.forward("bad", Tensor({1, 1}, {NAN}));
  world.forward("bad", Tensor({1, 1}, {NAN}));
  world.forward("good", Tensor({1, 1}, {1}));
  const Shown shown = world.tick();
  EXPECT_EQ(shown.value("Non-Finite Values", "bad", "Output Activations NaN"), 2);
  EXPECT_EQ(shown.layers("Non-Finite Values"), Names{"bad"});
  EXPECT_EQ(shown.value(kWarning, kWarning, "worst activation_rate"), 1);
  EXPECT_EQ(shown.tags.count("Non-Finite Values"), 1u);
}

}  // namespace
}  // namespace loupe::test
