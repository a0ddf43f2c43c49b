// Compares a run with a baseline while it trains, as `loupe diagnose --baseline` does afterwards.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "../standing.h"
#include "folder.h"
#include "health/baseline/baseline.h"
#include "loupe/config_error.h"
#include "monitored.h"
#include "paths.h"
#include "says.h"

namespace loupe {
namespace {

using health::Baseline;
using health::BaselineWatch;
constexpr const char* tag = "Probe";

/// A baseline of three runs in which the sum of a layer rises from about 1 to 20.
Baseline good_runs(const std::string& layer = "conv") {
  std::vector<Baseline::Run> runs(3);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (int epoch = 1; epoch <= 20; ++epoch)
      runs[i][{tag, layer, "sum"}][epoch] = epoch + 0.1 * static_cast<double>(i);
  }
  return Baseline::of(runs);
}

/// A run of the probe's lens with this baseline. The configuration names the baseline's file by a relative path.
struct Compared {
  explicit Compared(const Baseline& baseline, const std::string& options = "") {
    folder.write("given/baseline.json", baseline.text());
    const std::string health = "plugins: {path: [" + test_plugin("probe") + ", " + LOUPE_BUILT_PLUGINS +
                               "]}\nlenses:\n  - health: {baseline: given/baseline.json" + options +
                               "}\n  - probe_lens\n";
    it.emplace(Config::from_file(folder.write("a.yaml", health)));
  }
  void epoch(float sum) {
    it->forward({sum, 0});
    it->tick();
  }
  std::vector<const loupe_finding*> found() const { return it->monitor.findings().all(); }

  const Folder folder;
  std::optional<Layered> it;
};

TEST(BaselineOfARun, FindsNothingWhileTheRunStaysWithinIt) {
  Compared run(good_runs());
  for (int epoch = 1; epoch <= 30; ++epoch) run.epoch(static_cast<float>(std::min(epoch, 20)) + 0.3F);
  EXPECT_TRUE(run.found().empty());
}

TEST(BaselineOfARun, TellsADepartureThatLastsLongerThanThePatienceAndItsEnd) {
  Compared run(good_runs());
  for (int epoch = 1; epoch <= 6; ++epoch) run.epoch(epoch < 5 ? static_cast<float>(epoch) : 100);
  EXPECT_TRUE(run.found().empty());
  run.epoch(100);
  ASSERT_EQ(run.found().size(), 1u);
  const loupe_finding& finding = *run.found()[0];
  EXPECT_STREQ(finding.rule, "departs_from_baseline");
  EXPECT_EQ(finding.severity, static_cast<uint32_t>(LOUPE_SEVERITY_WARNING));
  EXPECT_STREQ(finding.layer, "conv");
  EXPECT_STREQ(finding.source, "the lens 'health'");
  EXPECT_EQ(finding.value, 100);
  EXPECT_EQ(finding.first_epoch, 5);
  EXPECT_SAYS(finding.message, "but the baseline of 3 good runs allows ");
  EXPECT_SAYS(finding.message, "including a margin");
  EXPECT_SAYS(finding.message, "it left this range in epoch 5");
  for (int epoch = 8; epoch <= 10; ++epoch) run.epoch(static_cast<float>(epoch));
  EXPECT_TRUE(standing_of(run.it->monitor.findings()).empty());
}

TEST(BaselineOfARun, UsesTheOptionsOffAndPatienceOfTheLens) {
  Compared off(good_runs(), ", off: [departs_from_baseline]");
  for (int epoch = 1; epoch <= 5; ++epoch) off.epoch(100);
  EXPECT_TRUE(off.found().empty());
  Compared patient(good_runs(), ", patience: 4");
  for (int epoch = 1; epoch <= 4; ++epoch) patient.epoch(100);
  EXPECT_TRUE(patient.found().empty());
  patient.epoch(100);
  EXPECT_EQ(patient.found().size(), 1u);
}

TEST(BaselineOfARun, OfAnotherModelIsAnError) {
  Compared run(good_runs("encoder"));
  run.epoch(1);
  run.epoch(1);
  ASSERT_EQ(run.found().size(), 1u);
  EXPECT_EQ(run.found()[0]->severity, static_cast<uint32_t>(LOUPE_SEVERITY_ERROR));
  EXPECT_SAYS(run.found()[0]->message, "is from another model: it has none of this run's 1 layers, such as 'conv'");
}

TEST(BaselineOfARun, NamesLayersThatItLacksOnce) {
  BaselineWatch watch(good_runs(), 2);
  for (int epoch = 1; epoch <= 2; ++epoch) {
    watch.add(tag, "conv", "sum", epoch);
    watch.add(tag, "head", "sum", 1);
    EXPECT_TRUE(watch.end_tick(epoch).empty());
    EXPECT_EQ(watch.take_lacking().find("has no series of 'head'") != std::string::npos, epoch == 1);
  }
}

TEST(BaselineOfARun, ThatCannotBeReadIsAnErrorOfTheConfiguration) {
  const Folder folder;
  const std::string file = folder.write("a.yaml", std::string("plugins: {path: [") + LOUPE_BUILT_PLUGINS +
                                                      "]}\nlenses: [health: {baseline: missing.json}]\n");
  EXPECT_BEGINS(thrown_by<ConfigError>([&] { const Monitor monitor(Config::from_file(file)); }),
                file + ":2:10: error: the lens 'health' cannot be created: " + folder.path("missing.json") +
                    ": error: the baseline cannot be read");
}

/// Eleven good runs of one series, with values from `least` in the first run to `most` in the last.
Baseline runs_between(double least, double most, const std::set<std::string>& shares = {}) {
  std::vector<Baseline::Run> runs(11);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const double value = least * std::pow(most / least, static_cast<double>(i) / 10);
    for (int epoch = 1; epoch <= 10; ++epoch) runs[i][{tag, "conv", "sum"}][epoch] = value;
  }
  return Baseline::of(runs, shares);
}

TEST(Baseline, AcceptsZeroIfGoodRunsComeCloseToIt) {
  EXPECT_LE(runs_between(4e-6, 3e-3).span({tag, "conv", "sum"}, 5)->low, 0);
  EXPECT_LE(runs_between(1e-4, 0.02).span({tag, "conv", "sum"}, 5)->low, 0);
  EXPECT_LE(runs_between(2e-5, 1e-4, {tag}).span({tag, "conv", "sum"}, 5)->low, 0) << "values are shares of units";
}

TEST(Baseline, AllowsNoShareBelowZero) {
  EXPECT_EQ(runs_between(2e-5, 0.1, {tag}).span({tag, "conv", "sum"}, 5)->low, 0);
  EXPECT_LT(runs_between(-0.1, -0.01).span({tag, "conv", "sum"}, 5)->low, -0.1) << "values are correlations";
}

TEST(Baseline, RejectsZeroForASeriesThatStaysAwayFromIt) {
  EXPECT_GT(runs_between(0.5, 2).span({tag, "conv", "sum"}, 5)->low, 0);
  EXPECT_GT(runs_between(1e-6, 2e-6).span({tag, "conv", "sum"}, 5)->low, 0) << "values are small gradients";
  EXPECT_GT(runs_between(0.4, 0.6, {tag}).span({tag, "conv", "sum"}, 5)->low, 0);
}

TEST(Baseline, ReadsWhatItWrites) {
  const Folder folder;
  const Baseline good = good_runs();
  const Baseline read = Baseline::read(folder.write("baseline.json", good.text()));
  EXPECT_EQ(read.text(), good.text());
  EXPECT_EQ(read.run_count(), 3u);
  ASSERT_NE(read.span({tag, "conv", "sum"}, 7), nullptr);
  EXPECT_LT(read.span({tag, "conv", "sum"}, 7)->low, 7);
  EXPECT_GT(read.span({tag, "conv", "sum"}, 7)->high, 7.2);
  EXPECT_EQ(read.span({tag, "conv", "other"}, 7), nullptr);
}

TEST(Baseline, LeavesOutValuesThatAreNotFiniteAndEmptyPhases) {
  std::vector<Baseline::Run> runs(2);
  for (Baseline::Run& run : runs) {
    run[{"Loss", "Loss", "val_loss mean"}] = {{1, NAN}, {5, 2.0}, {9, INFINITY}};
  }
  const Baseline baseline = Baseline::of(runs);
  EXPECT_EQ(baseline.phase_count(), 3u);
  EXPECT_EQ(baseline.span({"Loss", "Loss", "val_loss mean"}, 1), nullptr);
  EXPECT_NE(baseline.span({"Loss", "Loss", "val_loss mean"}, 5), nullptr);
  EXPECT_FALSE(baseline.has_layers());
}

}  // namespace
}  // namespace loupe
