// Tests of the lens `health` on made-up models: each rule has cases that it must report and cases that it must not.

#include <gtest/gtest.h>
#include <loupe/testing.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "paths.h"

namespace {

namespace lt = loupe::testing;
using lt::Bench;
using lt::tensor;
using Values = std::vector<double>;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t batch = 16, width = 4;

/// A number between -1 and 1 that looks random and is always the same for a seed.
double noise(int64_t seed) {
  auto bits = static_cast<uint64_t>(seed + 1) * 0x9e3779b97f4a7c15;
  bits = (bits ^ bits >> 29) * 0xbf58476d1ce4e5b9;
  return static_cast<double>(bits >> 11) / static_cast<double>(uint64_t{1} << 52) - 1;
}
Values noises(int64_t count, int64_t seed, double scale = 1) {
  Values values;
  for (int64_t i = 0; i < count; ++i) values.push_back(scale * noise(seed * 7919 + i));
  return values;
}

/// Three linear layers with a ReLU each, and a healthy step that tests modify.
class Net {
 public:
  explicit Net(const std::string& options = "{}", const std::vector<std::string>& more = {},
               const std::string& attach = "{}")
      : bench_("attach: " + attach + "\nlenses: [health: " + options + "]\n", {LOUPE_BUILT_PLUGINS}) {
    bench_.module("Net", "Net", {}, LOUPE_MODULE_ROOT);
    for (int i = 0; i < 3; ++i) {
      const std::string number = std::to_string(i + 1);
      linears_[i] = bench_.module("fc" + number, "Linear", {{"weight", {width, width}}});
      relus_[i] = bench_.module("relu" + number, "ReLU");
    }
    for (const std::string& type : more) more_.push_back(bench_.module(type, type));
    for (int i = 0; i < 3; ++i)
      bench_.set(linears_[i], "weight", tensor(noises(width * width, 100 + i), {width, width}));
    bench_.optimizer("SGD", 0.1);
  }

  struct Step {
    double gradient[3] = {0.1, 0.1, 0.1};
    double input = 1, output = 1;
    int64_t constant = 0;  ///< number of units of the second layer with the same output for each sample
    double relu = 1;       ///< factor of the second ReLU's outputs
    double update = 1e-3;
    bool same_input = false;
    lt::Pass pass = lt::training_pass;
    Values bad_input = {}, bad_output = {};  ///< replace the second layer's healthy values
    bool bad_gradient = false, is_skipped = false;
  };
  void step() { step(Step()); }
  void step(const Step& how) {
    ++number_;
    Values in = noises(batch * width, how.same_input ? 0 : number_, how.input);
    for (int i = 0; i < 3; ++i) {
      Values out = noises(batch * width, 10 * number_ + i, how.output);
      for (int64_t place = 0; i == 1 && place < batch * width; ++place) {
        if (place % width < how.constant) out[static_cast<std::size_t>(place)] = 0.5;
      }
      if (i == 1 && !how.bad_input.empty()) in = how.bad_input;
      if (i == 1 && !how.bad_output.empty()) out = how.bad_output;
      const lt::Tensor shown = tensor(out, {batch, width});
      bench_.forward(linears_[i], std::vector{tensor(in, {batch, width})}, std::vector{shown}, how.pass);
      for (double& each : out) each = std::max(each, 0.0) * (i == 1 ? how.relu : 1);
      bench_.forward(relus_[i], std::vector{shown}, std::vector{tensor(out, {batch, width})}, how.pass);
      in = out;
    }
    for (int i = 2; i >= 0; --i) {
      Values gradient = noises(width * width, 1000 * number_ + i, how.gradient[i]);
      if (how.bad_gradient) gradient[0] = nan;
      bench_.gradient(linears_[i], "weight", tensor(gradient, {width, width}));
    }
    if (how.is_skipped) return;
    moved_ += how.update;
    for (int i = 0; i < 3; ++i) {
      const bool spoilt = how.bad_gradient || !how.bad_output.empty() || !how.bad_input.empty();
      Values weight = noises(width * width, 100 + i);
      for (double& each : weight) each = spoilt ? nan : each + moved_;
      bench_.set(linears_[i], "weight", tensor(weight, {width, width}));
    }
    bench_.step();
  }
  /// A pass without gradients, and a pushed validation loss.
  void validate(const Step& how) {
    ++number_;
    for (int i = 0; i < 3; ++i) {
      const lt::Tensor in = tensor(noises(batch * width, number_ + i), {batch, width});
      bench_.forward(linears_[i], std::vector{in}, std::vector{in}, how.pass);
    }
    bench_.push_loss(1, /*train=*/false);
  }
  void epoch(const Step& how, int steps = 8) {
    for (int i = 0; i < steps; ++i) step(how);
    bench_.tick();
  }
  void epoch() { epoch(Step()); }

  /// The raised findings except infos, resolved or not, as "rule layer".
  std::vector<std::string> found() const {
    std::vector<std::string> found;
    for (const lt::Finding& each : bench_.findings()) {
      if (each.state == LOUPE_FINDING_RAISED && each.severity != LOUPE_SEVERITY_INFO)
        found.push_back(each.rule + (each.layer.empty() ? "" : " " + each.layer));
    }
    return found;
  }
  Bench& bench() { return bench_; }
  lt::Module linear(int i) const { return linears_[i]; }
  lt::Module more(int i) const { return more_[static_cast<std::size_t>(i)]; }

 private:
  Bench bench_;
  lt::Module linears_[3], relus_[3];
  std::vector<lt::Module> more_;
  int64_t number_ = 0;
  double moved_ = 0;
};

using Names = std::vector<std::string>;

TEST(Health, IsSilentWhileTrainingIsHealthy) {
  Net net;
  for (int i = 0; i < 6; ++i) net.epoch();
  EXPECT_EQ(net.found(), Names());
  EXPECT_EQ(net.bench().log(), Names());
}

/// The number of findings of a rule.
int count_of(const Bench& bench, const std::string& rule, const std::string& layer = "Net") {
  int count = 0;
  for (const lt::Finding& each : bench.findings())
    count += each.rule == rule && each.layer == layer && each.state == LOUPE_FINDING_RAISED ? 1 : 0;
  return count;
}

TEST(NoStep, IsNotReportedIfAnEpochEndsBetweenAGradientAndItsStep) {
  // Replicas on threads do this: each ends an epoch when it begins the next.
  Net net;
  for (int epoch = 0; epoch < 4; ++epoch) {
    net.step({.is_skipped = true});
    net.bench().tick();
    net.bench().tick();
    net.bench().step();
    net.epoch();
  }
  EXPECT_EQ(count_of(net.bench(), "no_step"), 0);
}

TEST(NoStep, IsReportedForMoreGradientsThanAStepAccumulates) {
  Net net;
  net.epoch();
  net.step({.is_skipped = true});
  net.step({.is_skipped = true});
  net.bench().tick();
  EXPECT_EQ(count_of(net.bench(), "no_step"), 1);
}

TEST(NoStep, IsReportedInASecondEpochOfOneBatch) {
  Net net;
  net.epoch({.is_skipped = true}, 1);
  EXPECT_EQ(count_of(net.bench(), "no_step"), 0);
  net.epoch({.is_skipped = true}, 1);
  EXPECT_EQ(count_of(net.bench(), "no_step"), 1);
}

TEST(UnchangedParameter, WithoutAGradientIsReportedOnlyIfEachStepWasMeasured) {
  for (const char* every : {"1", "3"}) {
    Bench bench(std::string("attach: {every: ") + every + "}\nlenses: [health]\n", {LOUPE_BUILT_PLUGINS});
    bench.module("Net", "Net", {}, LOUPE_MODULE_ROOT);
    const lt::Module used = bench.module("used", "Linear", {{"weight", {width, width}}}),
                     unused = bench.module("unused", "Linear", {{"weight", {width, width}}});
    bench.set(used, "weight", tensor(noises(width * width, 1), {width, width}));
    bench.set(unused, "weight", tensor(noises(width * width, 2), {width, width}));
    bench.optimizer("SGD", 0.1);
    for (int step = 1; step <= 60; ++step) {
      bench.forward(used, tensor(noises(batch * width, step), {batch, width}));
      bench.gradient(used, "weight", tensor(noises(width * width, 1000 + step), {width, width}));
      bench.set(used, "weight", tensor(noises(width * width, 2000 + step), {width, width}));
      bench.step();
      if (step % 12 == 0) bench.tick();
    }
    EXPECT_EQ(count_of(bench, "unchanged_parameter", "unused"), std::string(every) == "1" ? 1 : 0) << every;
  }
}

TEST(Health, NamesTheLayerThatMadeTheFirstNaN) {
  Net net;
  net.epoch();
  const Net::Step step{.bad_output = Values(batch * width, nan)};
  net.step(step);
  EXPECT_EQ(net.found(), Names{"non_finite fc2"});
  EXPECT_NE(net.bench().findings().at(0).message.find("made the first NaN"), std::string::npos);
  net.step(step);
  net.bench().tick();
  EXPECT_EQ(net.found().size(), 1) << "only the first finding";
}

TEST(Health, NamesTheFunctionBetweenTwoLayersIfTheInputIsNotFinite) {
  Net net;
  const Net::Step step{.bad_input = Values(batch * width, nan), .bad_output = Values(batch * width, nan)};
  net.step(step);
  EXPECT_EQ(net.found(), Names{"non_finite fc2"});
  EXPECT_NE(net.bench().findings().at(0).message.find("between 'relu1'"), std::string::npos);
}

TEST(Health, NamesTheBatchIfTheFirstLayersInputIsNotFinite) {
  Net net;
  const lt::Tensor bad = tensor(Values(batch * width, nan), {batch, width});
  net.bench().forward(net.linear(0), std::vector{bad}, std::vector{bad});
  net.bench().set(net.linear(0), "weight", tensor(Values(width * width, nan), {width, width}));
  net.bench().step();
  ASSERT_EQ(net.found(), Names{"non_finite fc1"});
  EXPECT_NE(net.bench().findings().at(0).message.find("the batch itself"), std::string::npos);
}

TEST(Health, ReportsANaNLossAsAnErrorIfAllElseIsFinite) {
  Net net;
  net.epoch();
  for (int i = 0; i < 3; ++i) {
    net.bench().push_loss(nan);
    net.step();
    ASSERT_EQ(net.found(), Names{"non_finite"}) << "immediately";
    net.epoch();
  }
  ASSERT_EQ(net.found(), Names{"non_finite"});
  EXPECT_EQ(net.bench().findings().at(0).severity, static_cast<uint32_t>(LOUPE_SEVERITY_ERROR));
  EXPECT_NE(net.bench().findings().at(0).advice.find("an empty batch"), std::string::npos);
}

TEST(Health, ReportsALossThatBecomesNaNAfterTheLastStepOfAnEpoch) {
  Net net;
  for (int i = 0; i < 8; ++i) net.step();
  net.bench().push_loss(nan);
  net.bench().tick();
  EXPECT_EQ(net.found(), Names{"non_finite"});
}

TEST(Health, DoesNotReportAValidationLossThatIsNaN) {
  Net net;
  net.epoch();
  net.bench().push_loss(nan, /*train=*/false);
  net.epoch();
  EXPECT_EQ(net.found(), Names());
}

TEST(Health, NamesTheNonFiniteGradientIfAllOutputsAreFinite) {
  Net net;
  const Net::Step step{.bad_gradient = true};
  net.step(step);
  ASSERT_EQ(net.found(), Names{"non_finite fc3"});
  EXPECT_EQ(net.bench().findings().at(0).parameter, "weight");
}

TEST(Health, TakesAnInfiniteGradientOfASkippedStepForNoFault) {
  Net net;
  const Net::Step step{.bad_gradient = true, .is_skipped = true};
  net.step(step);
  for (int i = 0; i < 3; ++i) net.epoch();
  EXPECT_EQ(net.found(), Names());
}

TEST(Health, ReportsAStepThatChangesNothingImmediately) {
  Net net;
  net.step();
  const Net::Step step{.update = 0};
  net.step(step);
  EXPECT_EQ(net.found(), Names{"no_effect Net"});
}

TEST(Health, ReportsARateThatStaysZeroButNotOneThatStartsOrEndsAtZero) {
  Net net;
  net.bench().optimizer("SGD", 0);
  net.step();
  net.bench().optimizer("SGD", 0.1);
  for (int i = 0; i < 3; ++i) net.step();
  net.bench().optimizer("SGD", 0.001);
  net.step();
  net.bench().optimizer("SGD", 0);
  for (int i = 0; i < 3; ++i) net.step();
  EXPECT_EQ(net.found(), Names());

  Net other;
  other.bench().optimizer("SGD", 0);
  other.step();
  other.step();
  EXPECT_EQ(other.found(), Names{"zero_learning_rate Net"});
}

TEST(Health, ReportsAnAnnealedRateThatIsZeroBeforeTheLastEpoch) {
  const auto found = [](double epochs) {
    Net net;
    net.bench().epochs(epochs);
    for (const double rate : {0.1, 0.1, 0.1, 0.001, 0.0, 0.0}) {
      net.bench().optimizer("SGD", rate);
      net.step();
    }
    return net.found();
  };
  EXPECT_EQ(found(3), Names{"zero_learning_rate Net"});
  EXPECT_EQ(found(1), Names()) << "the last epoch";
  EXPECT_EQ(found(0), Names()) << "the number of epochs is unknown";
}

/// The message names the effect of the wrong mode on each kind of layer in the model.
TEST(Health, ReportsAModelTrainedInEvalModeIfThatMatters) {
  const auto trained = [](const Names& more) {
    Net net("{}", more);
    const Net::Step step{.pass = {false, true}};
    net.step(step);
    EXPECT_EQ(net.found(), more.empty() ? Names() : Names{"mode_mismatch Net"});
    return net.bench().findings().at(0).message;
  };
  const std::string beginning = "all of the model is in eval mode during training";
  EXPECT_EQ(trained({}), beginning + ", which has no effect here");
  EXPECT_EQ(trained({"Dropout"}), beginning + ": dropout is off");
  EXPECT_EQ(trained({"BatchNorm1d"}), beginning + ": batch norms do not learn");
  EXPECT_EQ(trained({"Dropout", "BatchNorm1d"}), beginning + ": dropout is off and batch norms do not learn");
}

TEST(Health, ReportsAModelValidatedInTrainingModeIfThatMatters) {
  const auto validated = [](const Names& more) {
    Net net("{}", more);
    for (int i = 0; i < 4; ++i) net.step();
    net.validate({.pass = {true, false}});
    net.bench().tick();
    EXPECT_EQ(net.found(), more.empty() ? Names() : Names{"mode_mismatch Net"});
    return net.bench().findings().at(0).message;
  };
  const std::string beginning = "the model is in training mode during validation";
  EXPECT_EQ(validated({}), beginning + ", which has no effect here");
  EXPECT_EQ(validated({"Dropout"}), beginning + ": dropout is on");
  EXPECT_EQ(validated({"BatchNorm1d"}), beginning + ": batch norms learn from the validation data");
  EXPECT_EQ(validated({"Dropout", "BatchNorm1d"}),
            beginning + ": dropout is on and batch norms learn from the validation data");
}

TEST(Health, ReportsAStuckLoaderButNotFullBatchTraining) {
  Net net;
  for (int i = 0; i < 4; ++i) net.step();
  const Net::Step same{.same_input = true};
  for (int i = 0; i < 3; ++i) net.step(same);
  EXPECT_EQ(net.found(), Names{"repeated_batch fc1"});

  Net full;
  for (int i = 0; i < 9; ++i) full.step(same);
  EXPECT_EQ(full.found(), Names());
}

TEST(Health, ReportsVanishingGradientsAfterItsPatience) {
  Net net;
  const Net::Step step{.gradient = {1e-7, 0.1, 0.1}};
  net.epoch(step);
  EXPECT_EQ(net.found(), Names());
  net.epoch(step);
  EXPECT_EQ(net.found(), Names{"vanishing_gradient fc1"});
}

/// Four epochs of a stack of six layers, whose gradients are multiplied by `factor` from a layer to the previous one.
Names found_in_stack(double factor, double loss_after_an_epoch) {
  Bench bench("lenses: [health: {off: [loss_not_decreasing, linear_chain]}]\n", {LOUPE_BUILT_PLUGINS});
  bench.module("Net", "Net", {}, LOUPE_MODULE_ROOT);
  std::vector<lt::Module> layers;
  for (int i = 0; i < 6; ++i) {
    layers.push_back(bench.module("fc" + std::to_string(i + 1), "Linear", {{"weight", {width, width}}}));
    bench.set(layers[i], "weight", tensor(noises(width * width, 100 + i), {width, width}));
  }
  bench.optimizer("SGD", 0.1);
  double loss = 1;
  for (int step = 1; step <= 32; ++step) {
    for (int i = 0; i < 6; ++i) {
      bench.forward(layers[i], std::vector{tensor(noises(batch * width, 10 * step + i), {batch, width})},
                    std::vector{tensor(noises(batch * width, 10 * step + i + 1), {batch, width})});
    }
    for (int i = 5; i >= 0; --i) {
      const double scale = 0.1 * std::pow(factor, 5 - i);
      bench.gradient(layers[i], "weight", tensor(noises(width * width, 1000 * step + i, scale), {width, width}));
    }
    for (int i = 0; i < 6; ++i) {
      Values weight = noises(width * width, 100 + i);
      for (double& each : weight) each += 1e-3 * step;
      bench.set(layers[i], "weight", tensor(weight, {width, width}));
    }
    bench.step();
    bench.push_loss(loss);
    if (step % 8 != 0) continue;
    bench.tick();
    loss *= loss_after_an_epoch;
  }
  Names found;
  for (const lt::Finding& each : bench.findings()) {
    if (each.state == LOUPE_FINDING_RAISED) found.push_back(each.rule + " " + each.layer);
  }
  return found;
}

TEST(Health, ReportsSmallerVanishingIfTheLossDoesNotFall) {
  EXPECT_EQ(found_in_stack(0.35, 1), Names{"vanishing_gradient fc1"});
  EXPECT_EQ(found_in_stack(0.35, 0.8), Names());
  EXPECT_EQ(found_in_stack(0.5, 1), Names());
}

TEST(Health, ReportsWhenAFindingIsResolved) {
  Net net("{cooldown: 2}");
  for (int i = 0; i < 3; ++i) net.epoch({.gradient = {1e-7, 0.1, 0.1}});
  for (int i = 0; i < 3; ++i) net.epoch();
  ASSERT_GE(net.bench().findings().size(), 2);
  EXPECT_EQ(net.bench().findings().back().state, LOUPE_FINDING_GONE);
  EXPECT_EQ(net.bench().findings().back().rule, "vanishing_gradient");
}

TEST(Health, ReportsAGradientFarAboveAllEarlierOnes) {
  Net net;
  for (int i = 0; i < 2; ++i) net.epoch();
  const Net::Step step{.gradient = {0.1, 50, 0.1}};
  net.step(step);
  EXPECT_EQ(net.found(), Names{"exploding_gradient fc2"});
}

/// Six epochs with a constant loss, of a ReLU whose first `quiet` units are active only in `sample`, or in no sample
/// if that is -1.
Names found_with_quiet_units(int64_t units, int64_t quiet, int64_t sample) {
  Bench bench("lenses: [health: {dead_share: 0.02}]\n", {LOUPE_BUILT_PLUGINS});
  bench.module("Net", "Net", {}, LOUPE_MODULE_ROOT);
  const lt::Module linear = bench.module("fc", "Linear", {{"weight", {width, width}}});
  const lt::Module relu = bench.module("relu", "ReLU");
  bench.optimizer("SGD", 0.1);
  for (int step = 1; step <= 48; ++step) {
    Values out(batch * units, 1.0);
    for (int64_t row = 0; row < batch; ++row) {
      for (int64_t unit = 0; unit < quiet; ++unit) out[row * units + unit] = row == sample ? 1 : 0;
    }
    bench.forward(relu, tensor(out, {batch, units}));
    bench.gradient(linear, "weight", tensor(noises(width * width, step), {width, width}));
    bench.set(linear, "weight", tensor(noises(width * width, 1000 + step), {width, width}));
    bench.push_loss(1);
    bench.step();
    if (step % 8 == 0) bench.tick();
  }
  Names found;
  for (const lt::Finding& each : bench.findings()) {
    if (each.rule == "dead_units" && found.empty()) found.push_back(each.layer);
  }
  return found;
}

TEST(Health, ReportsAUnitAsDeadOnlyIfSilentInEachSample) {
  for (const int64_t quiet : {40, 3}) {  // the rule judges many and few silent units in different ways
    EXPECT_EQ(found_with_quiet_units(64, quiet, -1), Names{"relu"}) << quiet;
    EXPECT_EQ(found_with_quiet_units(64, quiet, 0), Names()) << quiet;
    EXPECT_EQ(found_with_quiet_units(64, quiet, batch - 1), Names()) << quiet;
  }
}

TEST(Health, ReportsALayerAsConstantOnlyIfAllItsUnitsAre) {
  for (const int64_t constant : {width - 1, width}) {
    Net net;
    net.epoch();
    for (int i = 0; i < 4; ++i) net.epoch({.constant = constant});
    EXPECT_EQ(net.found(), constant < width ? Names() : Names{"constant_output fc2"});
  }
}

TEST(Health, ReportsInputsFarFromUnitScale) {
  Net net;
  net.epoch({.input = 300});
  EXPECT_EQ(net.found(), Names{"unnormalized_input fc1"});
}

TEST(Health, ReportsTooLargeUpdatesAfterTheFirstWindow) {
  Net net;
  Net::Step step;
  for (int i = 0; i < 3; ++i) {
    step.update = step.update == 1e-3 ? 1.0 : step.update * 8;
    net.epoch(step, 4);
  }
  ASSERT_FALSE(net.found().empty());
  EXPECT_EQ(net.found().front().substr(0, 12), "update_ratio");
}

TEST(Health, ReportsAFirstStepThatReplacesTheWeights) {
  Net net;
  const Net::Step step{.update = 10};
  net.bench().optimizer("SGD", 100);
  net.step(step);
  ASSERT_EQ(net.found().size(), 1U);
  EXPECT_EQ(net.found()[0].substr(0, 12), "update_ratio");
}

/// The findings of three steps of a stack of layers, where the outputs of layer i have this scale.
std::vector<lt::Finding> found_with_scales(int layer_count, const std::function<double(int)>& scale) {
  Bench bench("lenses: [health]\n", {LOUPE_BUILT_PLUGINS});
  std::vector<lt::Module> layers;
  for (int i = 0; i < layer_count; ++i) {
    layers.push_back(bench.module(std::string(1, static_cast<char>('a' + i)), "Linear", {{"weight", {width, width}}}));
    bench.set(layers.back(), "weight", tensor(noises(width * width, 49), {width, width}));
  }
  for (int step = 0; step < 3; ++step) {
    for (int i = 0; i < layer_count; ++i) {
      bench.forward(layers[i], tensor(noises(batch * width, step * 10 + i, scale(i)), {batch, width}));
      bench.gradient(layers[i], "weight", tensor(noises(width * width, step), {width, width}));
      bench.set(layers[i], "weight", tensor(noises(width * width, 49, 1 + 0.01 * (step + 1)), {width, width}));
    }
    bench.step();
  }
  return bench.findings();
}

TEST(Health, ReportsOutputsWhoseVarianceGrowsFromLayerToLayer) {
  const std::vector<lt::Finding> found = found_with_scales(3, [](int i) { return std::pow(10, i); });
  ASSERT_EQ(found.size(), 1) << found.front().message;
  EXPECT_EQ(found[0].rule, "poor_initialization");
  EXPECT_EQ(found[0].layer, "c");
}

TEST(Health, IgnoresConstantLayersInTheGrowthFromLayerToLayer) {
  for (const lt::Finding& each : found_with_scales(6, [](int i) { return i % 2 == 0 ? 1 : 0; }))
    EXPECT_NE(each.rule, "poor_initialization") << each.message;
}

TEST(WeightsReset, IsReportedForWeightsThatStepsChangedNotForRounding) {
  for (const double update : {1e-3, 1e-8}) {
    Net net;
    for (int epoch = 0; epoch < 5; ++epoch) {
      for (int i = 0; i < 8; ++i) net.step({.update = i % 2 == 0 ? update : -update});
      net.bench().tick();
    }
    EXPECT_EQ(count_of(net.bench(), "weights_reset") > 0, update == 1e-3) << update;
  }
}

TEST(Health, ReportsUnitsThatStayEqual) {
  Net net("{off: [update_ratio]}");  // makes weights equal that were not, which is also a large update
  for (int step = 0; step < 3; ++step) {
    net.bench().forward(net.linear(0), tensor(noises(batch * width, step), {batch, width}));
    net.bench().gradient(net.linear(0), "weight", tensor(noises(width * width, step), {width, width}));
    net.bench().set(net.linear(0), "weight", tensor(Values(width * width, 0.1 + 0.001 * (step + 1)), {width, width}));
    net.bench().step();
  }
  EXPECT_EQ(net.found(), Names{"poor_initialization fc1"});
}

TEST(Health, ReportsALossThatJumps) {
  Net net;
  for (int i = 0; i < 20; ++i) net.bench().push_loss(1 + 0.1 * noise(i));
  net.step();
  EXPECT_EQ(net.found(), Names());
  net.bench().push_loss(40);
  net.step();
  EXPECT_EQ(net.found(), Names{"loss_spike"});
}

TEST(Health, ReportsALossThatGrowsAndOneThatStays) {
  Net growing, staying, falling;
  for (int epoch = 0; epoch < 4; ++epoch) {
    for (int i = 0; i < 8; ++i) {
      growing.bench().push_loss(1 + epoch + 0.1 * noise(i));
      staying.bench().push_loss(1 + 0.01 * noise(10 * epoch + i));
      falling.bench().push_loss(1.0 / (1 + epoch) + 0.1 * noise(i));
    }
    for (Net* each : {&growing, &staying, &falling}) each->epoch();
  }
  const Names grown = growing.found(), stayed = staying.found();
  EXPECT_TRUE(std::count(grown.begin(), grown.end(), "diverging_loss") == 1) << testing::PrintToString(grown);
  EXPECT_EQ(stayed, Names{"loss_not_decreasing"});
  EXPECT_EQ(falling.found(), Names());
}

TEST(Health, AcceptsAConstantLossAfterACheckpointUnlessItsFirstEpochsAreNotMeasured) {
  const auto found_after = [](Net& net, int epochs) {
    for (int epoch = 0; epoch < epochs; ++epoch) {
      for (int i = 0; i < 8; ++i) net.bench().push_loss(1 + 0.01 * noise(10 * epoch + i));
      net.epoch();
    }
    return net.found();
  };
  Net goes_on, looks_later("{}", {}, "{active: 2}");
  goes_on.bench().tick(12);
  EXPECT_EQ(found_after(goes_on, 4), Names());
  EXPECT_EQ(found_after(looks_later, 10), Names{"loss_not_decreasing"});
}

bool says(const std::string& message, const std::string& words) {
  return message.find(words) != std::string::npos;
}

/// The first finding's message of four epochs of 40 losses each; empty without a finding.
std::string told_of(const std::function<double(int)>& loss, const std::function<double(int)>& rate = nullptr) {
  Net net("{off: [loss_not_decreasing, diverging_loss, loss_spike]}");
  for (int i = 0; i < 160; ++i) {
    if (rate) net.bench().optimizer("SGD", rate(i));
    net.bench().push_loss(loss(i));
    net.step();
    if (i % 40 == 39) net.bench().tick();
  }
  return net.bench().findings().empty() ? "" : net.bench().findings().front().message;
}

TEST(Health, SeesALossThatSwingsSlowlyEvenWhileItComesDown) {
  const auto swinging = [](int i) { return (1 + 0.4 * std::cos(0.27 * i)) * std::exp(-0.003 * i) + 0.05 * noise(i); };
  EXPECT_PRED2(says, told_of(swinging), "swings slowly up and down");
}

TEST(Health, ReportsAJumpOfALossAboveItsStart) {
  const auto jumping = [](double start, double later) {
    return [=](int i) { return i < 40 ? start * (1 + noise(i) / 2) : later * (1 + 0.6 * noise(i)); };
  };
  EXPECT_PRED2(says, told_of(jumping(1, 3)), "of its mean from one loss to the next");
  EXPECT_EQ(told_of(jumping(1, 1)), "");
}

TEST(Health, TakesNoiseOutliersASmallSwingAndTwoKindsOfLossInTurnForNoOscillation) {
  EXPECT_EQ(told_of([](int i) { return 1 + 0.4 * noise(i); }), "");
  EXPECT_EQ(told_of([](int i) { return std::exp(-0.01 * i) * (1 + 0.4 * noise(i)); }), "");
  EXPECT_EQ(told_of([](int i) { return 1 + 0.02 * noise(i) + (i % 17 == 0 ? 3 : 0); }), "");
  EXPECT_EQ(told_of([](int i) { return 1 + 0.05 * std::cos(0.27 * i); }), "");
  EXPECT_EQ(told_of([](int i) { return i % 2 == 0 ? 1 + 0.05 * noise(i) : 9 + 0.3 * noise(i); }), "");
}

TEST(Health, ReportsNoSpikeForAStageThatBeginsWithAnEpoch) {
  const auto spikes = [](int begin) {
    Net net("{off: [loss_not_decreasing, diverging_loss, loss_oscillating]}");
    for (int i = 0; i < 160; ++i) {
      net.bench().push_loss((i < begin ? 0.5 : 1.5) + 0.02 * noise(i));
      net.step();
      if (i % 40 == 39) net.bench().tick();
    }
    return net.bench().findings().size();
  };
  EXPECT_EQ(spikes(80), 0U);
  EXPECT_GT(spikes(90), 0U);
}

TEST(Health, SeesSamplesThatComeSortedInTheSameWayInEachEpoch) {
  const auto sorted = [](int i) { return 1 + 0.3 * (i % 40 / 10 % 2 == 0 ? 1 : -1) + 0.3 * noise(i); };
  EXPECT_PRED2(says, told_of(sorted), "in the same way in each epoch");
}

TEST(Health, ReportsNoOscillationForTinySwingsOrALossNearZero) {
  const auto swing = [](int i) { return std::cos(0.27 * i) + 0.1 * noise(i); };
  EXPECT_EQ(told_of([&](int i) { return (i < 40 ? 1 : 0.01) * (1 + 0.4 * swing(i)); }), "");
  EXPECT_EQ(told_of([&](int i) { return 0.2 + swing(i); }), "");
}

TEST(Health, ReportsNoOscillationForALossThatFollowsACyclicRate) {
  const auto cycle = [](int i) { return 1 + 0.9 * std::cos(0.27 * i); };
  const auto loss = [&](int i) { return 1 + 0.3 * cycle(i) + 0.02 * noise(i); };
  EXPECT_PRED2(says, told_of(loss), "swings slowly");
  EXPECT_EQ(told_of(loss, [&](int i) { return 0.1 * cycle(i); }), "");
  const auto in_small_steps = [](int i) { return i < 10 ? 0.1 - 0.008 * i : 0.02 + 0.0001 * i; };
  EXPECT_EQ(told_of(loss, in_small_steps), "");
  const auto falling = [](int i) { return 0.1 - 0.0005 * i; };
  EXPECT_PRED2(says, told_of(loss, falling), "swings slowly");
}

TEST(Overfitting, IsReportedForAGrowingValidationLossNotForNoise) {
  const auto found_after = [](const Values& held_out) {
    Net net;
    double train = 1;
    for (const double each : held_out) {
      for (int i = 0; i < 4; ++i) net.bench().push_loss(train *= 0.9);
      net.bench().push_loss(each, false);
      net.epoch();
    }
    return net.found();
  };
  EXPECT_EQ(found_after({1.1, 0.8, 1.1, 1.4, 1.7, 2.0}), Names{"overfitting"});
  EXPECT_EQ(found_after({1.0, 0.6, 0.7, 0.7, 0.55, 0.54}), Names()) << "it reaches a new minimum two epochs later";
  EXPECT_EQ(found_after({0.70, 0.69, 0.79, 0.78, 0.79, 0.78}), Names{"unrelated_validation"})
      << "the validation loss never fell";
  EXPECT_EQ(found_after({0.70, 0.69, 1.2, 1.3, 1.4, 1.5}), Names{"overfitting"}) << "the validation loss has doubled";
  EXPECT_EQ(found_after({0.9, 0.3, 0.028, 0.027, 0.031, 0.031, 0.032, 0.031}), Names())
      << "the loss is unsteady near its minimum";
}

TEST(Health, QuestionsTheSignOfATrainingLossBelowZeroWhileTheValidationLossGrows) {
  Net net;
  for (int epoch = 0; epoch < 6; ++epoch) {
    for (int i = 0; i < 4; ++i) net.bench().push_loss(-1.0 - 5 * epoch);
    net.bench().push_loss(1.2 + 5 * epoch, false);
    net.epoch();
  }
  ASSERT_EQ(net.found(), Names{"overfitting"});
  EXPECT_NE(net.bench().findings()[0].advice.find("minimized, not maximized"), std::string::npos);
}

TEST(Health, LeavesOutRulesThatAreOff) {
  Net net("{off: [vanishing_gradient]}");
  for (int i = 0; i < 3; ++i) net.epoch({.gradient = {1e-7, 0.1, 0.1}});
  EXPECT_EQ(net.found(), Names());
}

TEST(Health, RefusesAnUnknownRule) {
  EXPECT_THROW(Bench("lenses: [health: {off: [vanishing_gradients]}]\n", {LOUPE_BUILT_PLUGINS}), std::runtime_error);
}

/// A net with one step in five measured: the first two of each ten.
Net sampled() {
  return Net("{}", {}, "{every: 5}");
}

TEST(SampledHealth, IsSilentWhileTrainingIsHealthy) {
  Net net = sampled();
  for (int i = 0; i < 12; ++i) net.epoch(Net::Step(), 23);
  EXPECT_EQ(net.found(), Names());
  EXPECT_EQ(net.bench().log(), Names());
}

TEST(SampledHealth, SaysThatAParameterWentBadInAStepThatWasNotLookedAt) {
  Net net = sampled();
  for (int i = 0; i < 13; ++i) net.step();  // the next step is the fourteenth, which is not measured
  const Net::Step step{.bad_output = Values(batch * width, nan)};
  net.bench().push_loss(nan);
  net.step(step);
  EXPECT_EQ(net.found(), Names());
  net.step(step);  // measured, because the loss was not finite
  ASSERT_EQ(net.found(), Names{"non_finite fc2"});
  const lt::Finding finding = net.bench().findings().at(0);
  EXPECT_NE(finding.message.find("that were not measured"), std::string::npos) << finding.message;
  EXPECT_EQ(finding.parameter, "weight");
}

TEST(SampledHealth, ReportsANaNWithoutALossAtTheNextMeasuredPair) {
  Net net = sampled();
  for (int i = 0; i < 13; ++i) net.step();
  const Net::Step step{.bad_output = Values(batch * width, nan)};
  for (int i = 13; i < 20; ++i) net.step(step);
  EXPECT_EQ(net.found(), Names());
  net.step(step);
  EXPECT_EQ(net.found(), Names{"non_finite fc2"});
}

TEST(SampledHealth, ReportsANonFiniteLossOfAnUnmeasuredStep) {
  Net net = sampled();
  for (int i = 0; i < 13; ++i) net.step();
  net.bench().push_loss(nan);
  for (int i = 0; i < 10; ++i) net.step();
  ASSERT_EQ(net.found(), Names{"non_finite"});
  EXPECT_NE(net.bench().findings().at(0).message.find("in a step that was not measured"), std::string::npos);
}

TEST(SampledHealth, ReportsNoStuckLoaderForABatchThatRepeatsAfterAGap) {
  // Batches repeat after a gap: the first step of every second measured pair has the same batch.
  Net net = sampled();
  for (int i = 0; i < 6; ++i) net.step();
  const Net::Step same{.same_input = true};
  for (int pair = 0; pair < 6; ++pair) {
    for (int i = 0; i < 4; ++i) net.step();
    net.step(pair % 2 == 0 ? same : Net::Step());
    for (int i = 0; i < 5; ++i) net.step();
  }
  EXPECT_EQ(net.found(), Names());
}

/// One layer with so large a batch that each step measures only some of its elements.
class WideNet {
 public:
  static constexpr int64_t width = 200;
  WideNet() { bench_.optimizer("SGD", 0.1); }
  void step(const Values& input) {
    ++number_;
    bench_.forward(net_, std::vector{tensor(input, {batch, width})},
                   std::vector{tensor(noises(2 * batch, number_), {batch, 2})});
    bench_.gradient(net_, "weight", tensor(noises(4, number_), {2, 2}));
    bench_.set(net_, "weight", tensor(noises(4, 1000 + number_), {2, 2}));
    bench_.step();
  }
  bool is_stuck() const {
    const auto found = bench_.findings();
    return std::any_of(found.begin(), found.end(), [](const auto& each) { return each.rule == "repeated_batch"; });
  }

 private:
  Bench bench_{"lenses: [health]\n", {LOUPE_BUILT_PLUGINS}};
  lt::Module net_ =
      bench_.module("fc", "Linear", {{"weight", {2, 2}}}, LOUPE_MODULE_ROOT | LOUPE_MODULE_LEAF | LOUPE_MODULE_TAPPED);
  int64_t number_ = 0;
};

TEST(Health, ReportsALoaderThatIsStuckOnALargeBatch) {
  WideNet net;
  for (int i = 0; i < 7; ++i) {
    EXPECT_FALSE(net.is_stuck()) << i;
    net.step(noises(batch * WideNet::width, std::min(i, 4)));
  }
  EXPECT_TRUE(net.is_stuck()) << "the batch came three times";
}

TEST(Health, ReportsNoStuckLoaderForBatchesThatDifferInOneElement) {
  WideNet net;
  for (int i = 0; i < 12; ++i) {
    Values input = noises(batch * WideNet::width, std::min(i, 4));
    input[1] = i;
    net.step(input);
  }
  EXPECT_FALSE(net.is_stuck());
}

TEST(SampledHealth, ReportsALoaderThatIsStuck) {
  Net net = sampled();
  for (int i = 0; i < 23; ++i) net.step();
  for (int i = 0; i < 40; ++i) net.step({.same_input = true});
  EXPECT_EQ(net.found(), Names{"repeated_batch fc1"});
}

TEST(SampledHealth, AcceptsARateThatIsZeroInSomeSteps) {
  Net net = sampled();
  for (int i = 0; i < 60; ++i) {
    // Steps 0, 1, 10, 11, … are measured: the rate is 0 in the second step of a pair and in the first of the next.
    const bool zero = i % 20 == 1 || i % 20 == 10;
    net.bench().optimizer("SGD", zero ? 0.0 : 0.1);
    net.step();
  }
  EXPECT_EQ(net.found(), Names());
  net.bench().optimizer("SGD", 0.0);
  for (int i = 0; i < 12; ++i) net.step();
  EXPECT_EQ(net.found(), Names{"zero_learning_rate Net"});
}

TEST(SampledHealth, SaysInHowManyStepsAStatisticalFindingWasSeen) {
  Net net = sampled();
  for (int i = 0; i < 2; ++i) net.epoch({.gradient = {1e-7, 0.1, 0.1}}, 23);
  ASSERT_EQ(net.found(), Names{"vanishing_gradient fc1"});
  const std::string message = net.bench().findings().at(0).message;
  EXPECT_NE(message.find(" (seen in 4 of 23 steps)"), std::string::npos) << message;
}

TEST(SampledHealth, SeesTheRatesOfStepsThatNobodyLooksAt) {
  Net net = sampled();
  net.epoch(Net::Step(), 23);
  // The first two of each ten steps are measured, counted from the first step.
  for (int i = 23; i < 25; ++i) {
    net.bench().optimizer("SGD", 0.0);
    net.step();
  }
  EXPECT_EQ(net.found(), Names{"zero_learning_rate Net"});
  Net fallen = sampled();
  double rate = 0.1;
  for (int i = 0; i < 23; ++i) {
    fallen.bench().optimizer("SGD", rate);
    fallen.step();
    rate *= 0.6;
  }
  fallen.bench().tick();
  for (int i = 0; i < 3; ++i) fallen.step();
  EXPECT_EQ(fallen.found(), Names{"learning_rate_change Net"});
}

TEST(Health, ContinuesAfterALayerIsForgotten) {
  Net net;
  net.epoch();
  net.bench().forget(net.linear(1));
  net.bench().tick();
  net.bench().forward(net.linear(0), tensor(noises(batch * width, 1), {batch, width}));
  net.bench().tick();
  EXPECT_FALSE(net.bench().is_quarantined("health"));
}

/// A model with an embedding, in which each step changes one row.
class Embedding {
 public:
  explicit Embedding(const std::string& attach)
      : bench_("attach: " + attach + "\nlenses: [health]\n", {LOUPE_BUILT_PLUGINS}) {
    bench_.module("Net", "Net", {}, LOUPE_MODULE_ROOT);
    table_ = bench_.module("table", "Embedding", {{"weight", {rows, columns}}});
    bench_.optimizer("SGD", 0.1);
    set(0);
  }
  void step(int number) {
    bench_.gradient(table_, "weight", tensor(with_row(number, 1), {rows, columns}));
    set(number + 1);
    bench_.step();
  }
  std::vector<std::string> found() const {
    std::vector<std::string> found;
    for (const lt::Finding& each : bench_.findings()) found.push_back(each.rule);
    return found;
  }

 private:
  static constexpr int64_t rows = 3000, columns = 16;

  static Values with_row(int row, double value) {
    Values values(static_cast<std::size_t>(rows * columns));
    std::fill_n(values.begin() + row * columns, columns, value);
    return values;
  }
  void set(int trained) {
    Values values = noises(rows * columns, 3);
    std::fill_n(values.begin(), trained * columns, 0.25);
    bench_.set(table_, "weight", tensor(values, {rows, columns}));
  }

  Bench bench_;
  lt::Module table_;
};

TEST(EstimatedHealth, DoesNotSayThatAStepChangedNothingWhereTheSampleDidNotChange) {
  for (const char* attach : {"{}", "{history: 4096}"}) {
    Embedding net(attach);
    for (int i = 0; i < 8; ++i) net.step(i);
    EXPECT_EQ(net.found(), Names()) << attach;
  }
}

TEST(EstimatedHealth, ReportsAStepThatChangedNothingInADenseLayer) {
  Bench bench("attach: {history: 4096}\nlenses: [health]\n", {LOUPE_BUILT_PLUGINS});
  bench.module("Net", "Net", {}, LOUPE_MODULE_ROOT);
  constexpr int64_t side = 200;
  const lt::Module layer = bench.module("fc", "Linear", {{"weight", {side, side}}});
  bench.optimizer("SGD", 0.1);
  bench.set(layer, "weight", tensor(noises(side * side, 3), {side, side}));
  for (int step = 0; step < 4; ++step) {
    bench.gradient(layer, "weight", tensor(noises(side * side, step + 50, 0.01), {side, side}));
    bench.step();
  }
  ASSERT_FALSE(bench.findings().empty());
  EXPECT_NE(bench.findings().at(0).message.find("the step changed no weight"), std::string::npos)
      << bench.findings().at(0).message;
}

/// The findings of the first step of two large layers that replaces their weights, which begin with this size.
std::vector<std::string> first_step_of_two(double begin) {
  Bench bench("attach: {history: 4096}\nlenses: [health]\n", {LOUPE_BUILT_PLUGINS});
  bench.module("Net", "Net", {}, LOUPE_MODULE_ROOT);
  constexpr int64_t side = 200;
  const lt::Module layers[] = {bench.module("a", "Linear", {{"weight", {side, side}}}),
                               bench.module("b", "Linear", {{"weight", {side, side}}})};
  bench.optimizer("SGD", 0.1);
  for (int seed = 3; const lt::Module& layer : layers)
    bench.set(layer, "weight", tensor(noises(side * side, ++seed, begin), {side, side}));
  for (int seed = 13; const lt::Module& layer : layers) {
    bench.gradient(layer, "weight", tensor(noises(side * side, ++seed, 100), {side, side}));
    bench.set(layer, "weight", tensor(noises(side * side, seed + 10), {side, side}));
  }
  bench.step();
  std::vector<std::string> found;
  for (const lt::Finding& each : bench.findings()) found.push_back(each.message.substr(0, 23));
  return found;
}

TEST(EstimatedHealth, ReportsAFirstStepThatReplacesLargeWeights) {
  EXPECT_EQ(first_step_of_two(1), Names{"the first step replaced"});
  EXPECT_EQ(first_step_of_two(0), Names()) << "replacing zeros loses nothing";
}

TEST(EstimatedHealth, IsSilentWhileALargeLayerThatBeganAtZeroTrains) {
  Bench bench("attach: {history: 4096}\nlenses: [health]\n", {LOUPE_BUILT_PLUGINS});
  bench.module("Net", "Net", {}, LOUPE_MODULE_ROOT);
  constexpr int64_t side = 200;
  const lt::Module layer = bench.module("fc", "Linear", {{"weight", {side, side}}});
  bench.optimizer("SGD", 0.1);
  Values weight(side * side);
  bench.set(layer, "weight", tensor(weight, {side, side}));
  for (int step = 0; step < 12; ++step) {
    const Values gradient = noises(side * side, step + 50, 0.01);
    bench.gradient(layer, "weight", tensor(gradient, {side, side}));
    for (std::size_t i = 0; i < weight.size(); ++i) weight[i] -= 0.1 * gradient[i];
    bench.set(layer, "weight", tensor(weight, {side, side}));
    bench.step();
  }
  EXPECT_TRUE(bench.findings().empty()) << bench.findings().at(0).message;
}

}  // namespace
