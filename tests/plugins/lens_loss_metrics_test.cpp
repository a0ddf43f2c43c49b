#include <limits>

#include "built_in.h"

namespace {

/// A bench with the lens; a loss is shown in a plot without layers.
class Losses : public LensBench {
 public:
  explicit Losses(const std::string& yaml = "{}") : LensBench("loss_metrics", yaml) {}
  lt::Module add_loss(const std::string& name = "loss_fn") {
    return add(name, "MSELoss", {}, LOUPE_MODULE_LEAF | LOUPE_MODULE_LOSS | LOUPE_MODULE_TAPPED);
  }
  std::optional<double> loss(const std::string& line) const { return number("Loss", "", line); }
  std::optional<double> metric(const std::string& line) const { return number("Metrics", "", line); }
};

TEST(LossMetricsLens, ShowsPushedLossesWithTheirSpread) {
  Losses bench;
  bench.push_loss(1);
  bench.push_loss(3);
  bench.push_loss(5, false);
  bench.tick();
  EXPECT_EQ(bench.loss("train_loss mean"), 2);
  EXPECT_EQ(bench.band("Loss", "", "train_loss -σ"), std::pair(1.0, 3.0));
  EXPECT_EQ(bench.loss("val_loss mean"), 5);
  EXPECT_EQ(bench.band("Loss", "", "val_loss -σ"), std::pair(5.0, 5.0));
}

TEST(LossMetricsLens, ShowsAnEpochWithALossThatWasNaNAsNaNAndHowManyWere) {
  Losses bench("{loss_line: [mean, median]}");
  bench.push_loss(0.5);
  for (int i = 0; i < 2; ++i) bench.push_loss(NAN);
  bench.push_loss(5, false);
  bench.push_metric("accuracy", INFINITY);
  bench.tick();
  EXPECT_TRUE(std::isnan(bench.loss("train_loss mean").value_or(0)));
  EXPECT_TRUE(std::isnan(bench.loss("train_loss median").value_or(0)));
  EXPECT_EQ(bench.number("Non-Finite Values", "Loss", "train_loss NaN"), 2);
  EXPECT_EQ(bench.number("Non-Finite Values", "Metrics", "accuracy Inf"), 1);
  EXPECT_EQ(bench.loss("val_loss mean"), 5);
  bench.push_loss(0.5);
  bench.tick();
  EXPECT_EQ(bench.loss("train_loss mean"), 0.5) << "the next epoch starts from zero";
}

/// The bench's name for a number of a single step.
std::string at_step(const std::string& line, uint64_t step) {
  return line + "@" + std::to_string(step);
}

/// The steps from 1 to `last` for which the last tick has a number of a loss.
std::vector<uint64_t> steps_of(const Losses& bench, const std::string& loss, uint64_t last) {
  std::vector<uint64_t> steps;
  for (uint64_t step = 1; step <= last; ++step) {
    if (bench.loss(at_step(loss + " step", step))) steps.push_back(step);
  }
  return steps;
}

TEST(LossMetricsLens, ShowsEachStepOfAShortEpoch) {
  Losses bench;
  for (const double loss : {4, 2}) {
    bench.push_loss(loss);
    bench.step();
  }
  bench.push_loss(9, false);
  bench.tick();
  EXPECT_EQ(bench.loss(at_step("train_loss step", 1)), 4);
  EXPECT_EQ(bench.loss(at_step("train_loss step", 2)), 2);
  EXPECT_EQ(steps_of(bench, "val_loss", 2).size(), 0U) << "one value makes no curve";
  bench.push_loss(7, false);
  bench.push_loss(1);
  bench.step();
  bench.push_loss(3);
  bench.step();
  bench.tick();
  EXPECT_EQ(steps_of(bench, "val_loss", 4).size(), 0U) << "also if it comes before the first step";
  EXPECT_EQ(bench.loss(at_step("train_loss step", 3)), 1) << "an epoch starts without sums of the previous one";
}

TEST(LossMetricsLens, ShowsAtMostAHundredStepsOfALongEpochAndFewerInLaterOnes) {
  Losses bench;
  constexpr uint64_t long_epoch = 1001;
  for (uint64_t step = 1; step <= long_epoch; ++step) {
    bench.push_loss(static_cast<double>(step));
    bench.step();
  }
  bench.tick();
  const std::vector<uint64_t> steps = steps_of(bench, "train_loss", long_epoch);
  EXPECT_LE(steps.size(), 100U);
  EXPECT_GT(steps.size(), 40U);
  uint64_t before = 0;
  for (const uint64_t step : steps) {
    EXPECT_EQ(bench.loss(at_step("train_loss step", step)), static_cast<double>(before + 1 + step) / 2);
    before = step;
  }
  for (int epoch = 0; epoch < 9; ++epoch) bench.tick();
  for (uint64_t step = 1; step <= 100; ++step) {
    bench.push_loss(1);
    bench.step();
  }
  bench.tick();
  EXPECT_LE(steps_of(bench, "train_loss", long_epoch + 100).size(), 50U);
}

TEST(LossMetricsLens, ShowsStepsWithALossThatWasNaNAsNaNAndThoseAfterAsTheyAre) {
  Losses bench;
  for (const double loss : {4.0, std::numeric_limits<double>::quiet_NaN(), 2.0}) {
    bench.push_loss(loss);
    bench.step();
  }
  bench.tick();
  EXPECT_TRUE(std::isnan(bench.loss(at_step("train_loss step", 2)).value_or(0)));
  EXPECT_EQ(bench.loss(at_step("train_loss step", 3)), 2);
}

TEST(LossMetricsLens, ShowsALossModulesSteps) {
  Losses bench;
  const lt::Module loss = bench.add_loss();
  for (const double value : {2, 4}) {
    bench.forward(loss, tensor({value}));
    bench.step();
  }
  bench.tick();
  EXPECT_EQ(bench.loss(at_step("train_loss step", 2)), 4);
}

TEST(LossMetricsLens, ShowsALossModulesValuesBySplit) {
  Losses bench;
  const lt::Module loss = bench.add_loss();
  for (const double value : {2, 4}) bench.forward(loss, tensor({value}));
  bench.forward(loss, tensor({7}), without_gradients);
  bench.tick();
  EXPECT_EQ(bench.loss("train_loss mean"), 3);
  EXPECT_EQ(bench.loss("val_loss mean"), 7);
}

TEST(LossMetricsLens, PrefersTheLossModuleToPushesOfTheSameName) {
  Losses bench;
  bench.forward(bench.add_loss(), tensor({2}));
  bench.push_loss(100);
  bench.push_loss(9, false);
  bench.tick();
  EXPECT_EQ(bench.loss("train_loss mean"), 2);
  EXPECT_EQ(bench.loss("val_loss mean"), 9);
}

TEST(LossMetricsLens, IgnoresLossModulesByOptionAndTheModelsModulesAlways) {
  Losses without("{loss_fn: false}"), with;
  without.forward(without.add_loss(), tensor({2}));
  with.forward(with.add("fc", "Linear", {{"weight", {2, 2}}}), tensor({2}));
  for (Losses* bench : {&without, &with}) {
    bench->tick();
    EXPECT_TRUE(bench->is_silent());
  }
}

TEST(LossMetricsLens, ReportsAMisspeltMetricOnceButNoneThatComesLater) {
  Losses bench("{metrics: [acuracy, top5, val_accuracy]}");
  for (int epoch = 0; epoch < 2; ++epoch) {
    bench.push_metric("accuracy", 0.5);
    bench.tick();
  }
  EXPECT_EQ(bench.told(), Names{"no metric 'acuracy' was pushed so far; did you mean 'accuracy'?"});
}

TEST(LossMetricsLens, DistinguishesSeveralLossModules) {
  Losses bench;
  const lt::Module generator = bench.add_loss("generator"), critic = bench.add_loss("critic");
  bench.forward(generator, tensor({1}));
  bench.forward(critic, tensor({2}));
  bench.tick();
  EXPECT_EQ(bench.loss("generator train_loss mean"), 1);
  EXPECT_EQ(bench.loss("critic train_loss mean"), 2);
  EXPECT_EQ(bench.query("train_loss mean"), 1);
  EXPECT_EQ(bench.query("critic train_loss mean"), 2);
  bench.forget_with_a_tick(generator);
  bench.forward(critic, tensor({3}));
  bench.tick();
  EXPECT_EQ(bench.loss("train_loss mean"), 3);
}

TEST(LossMetricsLens, PassesTheLossModulesOptionsOn) {
  Losses bench("{evaluation_from_grad: false, loss_fn_inplace: false}");
  const lt::Module loss = bench.add_loss();
  bench.forward(loss, tensor({2}), without_gradients);
  bench.forward(loss, tensor({4}), in_eval_mode);
  bench.tick();
  EXPECT_EQ(bench.loss("train_loss mean"), 2);
  EXPECT_EQ(bench.loss("val_loss mean"), 4);
}

TEST(LossMetricsLens, ShowsEveryMetricUnlessSomeAreNamed) {
  for (const bool names_some : {false, true}) {
    Losses bench(names_some ? "{metrics: [accuracy]}" : "{}");
    for (const double value : {0.5, 1.0}) bench.push_metric("accuracy", value);
    bench.push_metric("speed", 10);
    bench.tick();
    EXPECT_EQ(bench.metric("accuracy mean"), 0.75);
    EXPECT_EQ(bench.metric("speed mean").has_value(), !names_some);
    EXPECT_FALSE(bench.loss("accuracy mean"));
    EXPECT_FALSE(bench.has_band("Metrics", "", "accuracy -σ") || bench.has_band("Metrics", "", "accuracy min"));
  }
}

TEST(LossMetricsLens, DeclaresBigNumericalPlotsAndThatOfMetricsOnceThereIsOne) {
  Losses named("{metrics: [accuracy]}"), any;
  named.tick();
  any.tick();
  for (const char* tag : {"Loss", "Metrics"}) {
    EXPECT_EQ(named.tag(tag).type, static_cast<uint32_t>(LOUPE_SCALE_NUMERICAL));
    EXPECT_TRUE(named.tag(tag).big);
  }
  EXPECT_EQ(any.tags(), Names{"Loss"});
  any.push_metric("accuracy", 1);
  any.tick();
  EXPECT_EQ(any.tags(), (Names{"Loss", "Metrics"}));
}

TEST(LossMetricsLens, PutsAllInOnePlotByOption) {
  Losses bench("{separate_loss_and_metrics: false}");
  bench.push_loss(1);
  bench.push_metric("accuracy", 2);
  bench.tick();
  EXPECT_EQ(bench.number("Loss & Metrics", "", "train_loss mean"), 1);
  EXPECT_EQ(bench.number("Loss & Metrics", "", "accuracy mean"), 2);
  EXPECT_EQ(bench.tags().size(), 1U);
}

TEST(LossMetricsLens, ShowsTheLinesAndBandsAskedFor) {
  Losses bench("{loss_line: [median, max], loss_range: none, metrics_line: min, metrics_range: [min-max]}");
  for (const double value : {1.0, 2.0, 6.0}) {
    bench.push_loss(value);
    bench.push_metric("accuracy", value);
  }
  bench.tick();
  EXPECT_EQ(bench.loss("train_loss median"), 2);
  EXPECT_EQ(bench.loss("train_loss max"), 6);
  EXPECT_FALSE(bench.loss("train_loss mean"));
  EXPECT_FALSE(bench.has_band("Loss", "", "train_loss -σ"));
  EXPECT_EQ(bench.metric("accuracy min"), 1);
  EXPECT_EQ(bench.band("Metrics", "", "accuracy min"), std::pair(1.0, 6.0));
}

TEST(LossMetricsLens, AnswersEveryAggregationOfTheLastTick) {
  Losses bench;
  for (const double value : {1.0, 2.0, 3.0, 4.0, 10.0}) bench.push_loss(value);
  bench.push_metric("accuracy", 0.5);
  EXPECT_FALSE(bench.query("train_loss mean"));
  bench.tick();
  for (const auto& [name, expected] : std::vector<std::pair<const char*, double>>{{"train_loss mean", 4},
                                                                                  {"train_loss median", 3},
                                                                                  {"train_loss min", 1},
                                                                                  {"train_loss max", 10},
                                                                                  {"train_loss Q1", 2},
                                                                                  {"train_loss Q3", 4},
                                                                                  {"train_loss IQR", 2},
                                                                                  {"train_loss std", std::sqrt(10.0)},
                                                                                  {"accuracy mean", 0.5}}) {
    EXPECT_NEAR(bench.query(name).value_or(NAN), expected, 1e-12) << name;
  }
  EXPECT_FALSE(bench.query("val_loss mean"));
  bench.tick();
  EXPECT_FALSE(bench.query("train_loss mean"));
}

TEST(LossMetricsLens, ShowsNothingAtATickWithoutPushesAndValidationAloneWithoutTraining) {
  Losses bench;
  bench.push_loss(1);
  bench.push_metric("accuracy", 1);
  bench.tick();
  bench.tick();
  EXPECT_TRUE(bench.is_silent());
  bench.push_loss(2, false);
  bench.tick();
  EXPECT_EQ(bench.loss("val_loss mean"), 2);
  EXPECT_FALSE(bench.loss("train_loss mean") || bench.metric("accuracy mean"));
}

}  // namespace
