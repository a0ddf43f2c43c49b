#include <gtest/gtest.h>

#include <cmath>

#include "lens_world.h"

namespace loupe::test {
namespace {

constexpr uint32_t kTrainLoss = LOUPE_EVENT_LOSS | LOUPE_EVENT_TRAINING;
constexpr uint32_t kValLoss = LOUPE_EVENT_LOSS;

ModuleSpec loss_module(const std::string& name) {
  return {name, "MSELoss", LOUPE_FAMILY_LOSS, LOUPE_MODULE_LEAF | LOUPE_MODULE_LOSS | LOUPE_MODULE_TAPPED};
}

TEST(LossMetricsLens, ShowsPushedLossesWithTheirSpread) {
  LensWorld world("loss_metrics");
  world.push("train_loss", 1, kTrainLoss);
  world.push("train_loss", 3, kTrainLoss);
  world.push("val_loss", 5, kValLoss);
  const Shown shown = world.tick();
  EXPECT_EQ(shown.value("Loss", "Loss", "train_loss mean"), 2);
  EXPECT_EQ(shown.range("Loss", "Loss", "train_loss -σ|train_loss +σ"), std::pair(1.0, 3.0));
  EXPECT_EQ(shown.value("Loss", "Loss", "val_loss mean"), 5);
  EXPECT_EQ(shown.range("Loss", "Loss", "val_loss -σ|val_loss +σ"), std::pair(5.0, 5.0));
}

TEST(LossMetricsLens, ShowsAnEpochWithALossThatWasNaNAsNaNAndHowManyWere) {
  LensWorld world("loss_metrics", "{loss_line: [mean, median]}");
  world.push("train_loss", 0.5, kTrainLoss);
  for (int i = 0; i < 2; ++i) world.push("train_loss", NAN, kTrainLoss);
  world.push("val_loss", 5, kValLoss);
  const Shown shown = world.tick();
  EXPECT_TRUE(std::isnan(shown.value("Loss", "Loss", "train_loss mean").value_or(0)));
  EXPECT_TRUE(std::isnan(shown.value("Loss", "Loss", "train_loss median").value_or(0)));
  EXPECT_EQ(shown.value("Non-Finite Values", "Loss", "train_loss NaN"), 2);
  EXPECT_EQ(shown.value("Loss", "Loss", "val_loss mean"), 5);
  world.push("train_loss", 0.5, kTrainLoss);
  EXPECT_EQ(world.tick().value("Loss", "Loss", "train_loss mean"), 0.5) << "the next epoch is another";
}

TEST(LossMetricsLens, ShowsALossModulesValuesBySplit) {
  LensWorld world("loss_metrics");
  world.add(loss_module("loss_fn"));
  world.forward("loss_fn", Tensor({}, {2}), kTraining);
  world.forward("loss_fn", Tensor({}, {4}), kTraining);
  world.forward("loss_fn", Tensor({}, {7}), LOUPE_EVENT_TRAINING);
  const Shown shown = world.tick();
  EXPECT_EQ(shown.value("Loss", "Loss", "train_loss mean"), 3);
  EXPECT_EQ(shown.value("Loss", "Loss", "val_loss mean"), 7);
}

TEST(LossMetricsLens, LetsTheLossModuleGoBeforePushesOfTheSameName) {
  LensWorld world("loss_metrics");
  world.add(loss_module("loss_fn"));
  world.forward("loss_fn", Tensor({}, {2}));
  world.push("train_loss", 100, kTrainLoss);
  world.push("val_loss", 9, kValLoss);
  const Shown shown = world.tick();
  EXPECT_EQ(shown.value("Loss", "Loss", "train_loss mean"), 2);
  EXPECT_EQ(shown.value("Loss", "Loss", "val_loss mean"), 9);
}

TEST(LossMetricsLens, LeavesLossModulesAloneWhenToldTo) {
  LensWorld world("loss_metrics", "{loss_fn: false}");
  world.add(loss_module("loss_fn"));
  EXPECT_TRUE(world.watched(LOUPE_TAP_FORWARD).empty());
}

TEST(LossMetricsLens, TellsOnceOfAMetricThatIsMisspeltAndNotOfOneThatComesLater) {
  fake_log().clear();
  LensWorld world("loss_metrics", "{metrics: [acuracy, top5, val_accuracy]}");
  for (int epoch = 1; epoch <= 2; ++epoch) {
    world.push("accuracy", 0.5);
    world.tick(epoch);
  }
  ASSERT_EQ(fake_log().size(), 1u);
  EXPECT_EQ(fake_log()[0], "no metric 'acuracy' was pushed so far; did you mean 'accuracy'?");
}

TEST(LossMetricsLens, WatchesNoModuleOfTheModel) {
  LensWorld world("loss_metrics");
  world.add({"fc", "Linear", LOUPE_FAMILY_LINEAR, LOUPE_MODULE_LEAF, {"weight"}});
  EXPECT_TRUE(world.watched(LOUPE_TAP_FORWARD).empty());
}

TEST(LossMetricsLens, TellsSeveralLossModulesApart) {
  LensWorld world("loss_metrics");
  world.add(loss_module("generator"));
  world.add(loss_module("critic"));
  world.forward("generator", Tensor({}, {1}));
  world.forward("critic", Tensor({}, {2}));
  const Shown shown = world.tick();
  EXPECT_EQ(shown.value("Loss", "Loss", "generator train_loss mean"), 1);
  EXPECT_EQ(shown.value("Loss", "Loss", "critic train_loss mean"), 2);
  EXPECT_EQ(world.query("train_loss mean"), 1);
  EXPECT_EQ(world.query("critic train_loss mean"), 2);
  world.forget("generator");
  world.forward("critic", Tensor({}, {3}));
  EXPECT_EQ(world.tick().value("Loss", "Loss", "train_loss mean"), 3);
}

TEST(LossMetricsLens, HandsTheLossModulesOptionsOn) {
  LensWorld world("loss_metrics", "{evaluation_from_grad: false, loss_fn_inplace: false}");
  world.add(loss_module("loss_fn"));
  world.forward("loss_fn", Tensor({}, {2}), LOUPE_EVENT_TRAINING);
  world.forward("loss_fn", Tensor({}, {4}), LOUPE_EVENT_GRAD_ENABLED);
  const Shown shown = world.tick();
  EXPECT_EQ(shown.value("Loss", "Loss", "train_loss mean"), 2);
  EXPECT_EQ(shown.value("Loss", "Loss", "val_loss mean"), 4);
}

TEST(LossMetricsLens, ShowsEveryMetricUnlessSomeAreNamed) {
  for (const auto& [yaml, shows_speed] :
       std::vector<std::pair<const char*, bool>>{{"{}", true}, {"{metrics: [accuracy]}", false}}) {
    LensWorld world("loss_metrics", yaml);
    world.push("accuracy", 0.5);
    world.push("accuracy", 1.0);
    world.push("speed", 10);
    const Shown shown = world.tick();
    EXPECT_EQ(shown.value("Metrics", "Metrics", "accuracy mean"), 0.75) << yaml;
    EXPECT_EQ(shown.value("Metrics", "Metrics", "speed mean").has_value(), shows_speed) << yaml;
    EXPECT_FALSE(shown.value("Loss", "Loss", "accuracy mean")) << yaml;
    EXPECT_TRUE(shown.ranges.empty()) << yaml;
  }
}

TEST(LossMetricsLens, IntroducesTheMetricsPlotOnceThereIsAMetric) {
  LensWorld named("loss_metrics", "{metrics: [accuracy]}");
  EXPECT_EQ(named.tick().tags.count("Metrics"), 1u);
  LensWorld any("loss_metrics");
  EXPECT_EQ(any.tick().tags.size(), 1u);
  any.push("accuracy", 1);
  EXPECT_EQ(any.tick().tags.count("Metrics"), 1u);
  EXPECT_EQ(any.tick().tags.count("Metrics"), 1u);
}

TEST(LossMetricsLens, IntroducesBigNumericalPlots) {
  const Shown shown = LensWorld("loss_metrics", "{metrics: [accuracy]}").tick();
  for (const char* tag : {"Loss", "Metrics"}) {
    EXPECT_EQ(shown.tags.at(tag).type, static_cast<uint32_t>(LOUPE_SCALE_NUMERICAL));
    EXPECT_TRUE(shown.tags.at(tag).big);
  }
}

TEST(LossMetricsLens, PutsAllInOnePlotWhenToldTo) {
  LensWorld world("loss_metrics", "{separate_loss_and_metrics: false}");
  world.push("train_loss", 1, kTrainLoss);
  world.push("accuracy", 2);
  const Shown shown = world.tick();
  EXPECT_EQ(shown.value("Loss & Metrics", "Loss & Metrics", "train_loss mean"), 1);
  EXPECT_EQ(shown.value("Loss & Metrics", "Loss & Metrics", "accuracy mean"), 2);
  EXPECT_EQ(shown.tags.size(), 1u);
}

TEST(LossMetricsLens, ShowsTheLinesAndBandsAskedFor) {
  LensWorld world("loss_metrics",
                  "{loss_line: [median, max], loss_range: none, metrics_line: min, metrics_range: [min-max]}");
  for (double value : {1.0, 2.0, 6.0}) {
    world.push("train_loss", value, kTrainLoss);
    world.push("accuracy", value);
  }
  const Shown shown = world.tick();
  EXPECT_EQ(shown.value("Loss", "Loss", "train_loss median"), 2);
  EXPECT_EQ(shown.value("Loss", "Loss", "train_loss max"), 6);
  EXPECT_FALSE(shown.value("Loss", "Loss", "train_loss mean"));
  EXPECT_EQ(shown.value("Metrics", "Metrics", "accuracy min"), 1);
  EXPECT_EQ(shown.range("Metrics", "Metrics", "accuracy min|accuracy max"), std::pair(1.0, 6.0));
  EXPECT_EQ(shown.ranges.size(), 1u);
}

TEST(LossMetricsLens, AnswersEveryAggregationOfTheLastTick) {
  LensWorld world("loss_metrics");
  for (double value : {1.0, 2.0, 3.0, 4.0, 10.0}) world.push("train_loss", value, kTrainLoss);
  world.push("accuracy", 0.5);
  EXPECT_FALSE(world.query("train_loss mean"));
  world.tick();
  EXPECT_EQ(world.query("train_loss mean"), 4);
  EXPECT_EQ(world.query("train_loss median"), 3);
  EXPECT_EQ(world.query("train_loss min"), 1);
  EXPECT_EQ(world.query("train_loss max"), 10);
  EXPECT_EQ(world.query("train_loss Q1"), 2);
  EXPECT_EQ(world.query("train_loss Q3"), 4);
  EXPECT_EQ(world.query("train_loss IQR"), 2);
  EXPECT_NEAR(*world.query("train_loss std"), std::sqrt(10.0), 1e-12);
  EXPECT_EQ(world.query("accuracy mean"), 0.5);
  EXPECT_FALSE(world.query("val_loss mean"));
  world.tick();
  EXPECT_FALSE(world.query("train_loss mean"));
}

TEST(LossMetricsLens, SaysNothingAtATickWithoutPushes) {
  LensWorld world("loss_metrics");
  world.push("train_loss", 1, kTrainLoss);
  world.push("accuracy", 1);
  world.tick();
  const Shown shown = world.tick();
  EXPECT_TRUE(shown.values.empty());
  EXPECT_TRUE(shown.ranges.empty());
}

TEST(LossMetricsLens, ShowsValidationAloneInAnEpochWithoutTraining) {
  LensWorld world("loss_metrics");
  world.push("val_loss", 2, kValLoss);
  const Shown shown = world.tick();
  EXPECT_EQ(shown.value("Loss", "Loss", "val_loss mean"), 2);
  EXPECT_EQ(shown.values.size(), 1u);
}

TEST(LossMetricsLens, TakesValuesPushedToMemory) {
  LensWorld world("loss_metrics", "{loss_line: median}");
  world.push("train_loss", 1, kTrainLoss | LOUPE_EVENT_MEMORY);
  world.push("train_loss", 2, kTrainLoss | LOUPE_EVENT_MEMORY);
  EXPECT_EQ(world.tick().value("Loss", "Loss", "train_loss median"), 1.5);
}

TEST(LossMetricsLens, NamesPushedNanAndNeverAveragesItAway) {
  LensWorld world("loss_metrics");
  world.push("train_loss", NAN, kTrainLoss);
  world.push("train_loss", 2, kTrainLoss);
  world.push("accuracy", INFINITY);
  const Shown shown = world.tick();
  EXPECT_TRUE(std::isnan(shown.value("Loss", "Loss", "train_loss mean").value_or(0)));
  EXPECT_EQ(shown.value("Non-Finite Values", "Loss", "train_loss NaN"), 1);
  EXPECT_EQ(shown.value("Non-Finite Values", "Metrics", "accuracy Inf"), 1);
}

TEST(LossMetricsLens, ReadsEachOfManyMetricsAFewTimes) {
  constexpr std::size_t count = 500;
  LensWorld world("loss_metrics");
  for (std::size_t i = 0; i < count; ++i) world.push(("metric" + std::to_string(i)).c_str(), 1);
  const Shown shown = world.tick();
  EXPECT_EQ(shown.values.size(), count);
  EXPECT_LE(world.rows_read(), 3 * count);
}

}  // namespace
}  // namespace loupe::test
