// In which epochs a lens measures, and how much of the time it takes.

#include <gtest/gtest.h>

#include <atomic>

#include "core/clock.h"
#include "monitored.h"
#include "pipeline/source.h"

namespace loupe {
namespace {

TEST(LensActivity, LooksAtEveryNthTickAndIsAskedForNoReportAtTheOthers) {
  Layered it("lenses:\n  - probe_lens: {active: 3}\n  - {probe: {id: other}, as: other}\n");
  std::vector<double> counts;
  for (int tick = 1; tick <= 6; ++tick) {
    it.forward({1});
    it.forward({2});
    it.tick();
    EXPECT_EQ(it.shown("conv", "sum count", "Probe (other)"), 2) << tick;
    counts.push_back(it.shown("conv", "sum count").value_or(0));
  }
  EXPECT_EQ(counts, (std::vector<double>{0, 0, 2, 2, 2, 2}));
  EXPECT_EQ(it.stage.take_notes("lens report"), (Texts{"lens report 3", "lens report 6"}));
  EXPECT_EQ(it.stage.take_notes("lens.numbers process").size(), 4U);
  EXPECT_EQ(it.stage.take_notes("other report").size(), 6U);
}

TEST(LensActivity, LetsAStreamRestThatNoOtherLensMeasures) {
  Layered it("lenses: [probe_lens: {active: 2}]\n");
  Stream* stream = it.layer->stream(LOUPE_TAP_FORWARD);
  EXPECT_TRUE(stream->resting());
  it.forward({1});
  EXPECT_TRUE(it.stage.take_notes("probe_forward event").empty());  // the gatherer is not called, either
  it.tick();
  EXPECT_FALSE(stream->resting());
  it.tick();
  EXPECT_TRUE(stream->resting());
}

TEST(LensActivity, ComparesNothingAcrossAGap) {
  for (const bool accompanied : {false, true}) {
    Layered it(std::string("lenses:\n  - probe_lens: {active: 2, measures: [previous, change]}\n") +
               (accompanied ? "  - {probe: {id: other, measures: [previous, change]}, as: other}\n" : ""));
    it.tick();
    it.forward({1, 1});
    it.forward({2, 2});
    it.tick();
    EXPECT_EQ(it.shown("conv", "dot_previous"), 4);
    it.forward({50, 50});
    it.tick();
    it.forward({3, 4});  // compared neither with its last value nor with a value of the gap
    it.tick();
    EXPECT_EQ(it.shown("conv", "dot_previous"), 0) << accompanied;
    EXPECT_EQ(it.shown("conv", "change"), 0) << accompanied;
    if (accompanied) {
      EXPECT_EQ(it.shown("conv", "dot_previous", "Probe (other)"), 350);
      EXPECT_EQ(it.shown("conv", "change", "Probe (other)"), 47 * 47 + 46 * 46);
    }
  }
}

TEST(LensActivity, CountsChangesFromTheValueAtTheRestartAndLeavesOtherLensesAlone) {
  Layered it(
      "lenses:\n  - probe_lens: {active: 2, measures: change}\n  - {probe: {id: other, measures: change}, as: "
      "other}\n");
  const FloatTensor now({5, 5});
  it.host.on_looking_changed = [&] { it.layer->stream(LOUPE_TAP_FORWARD)->prime(*now.get()); };
  it.forward({4, 4});
  it.tick();
  it.forward({6, 7});
  it.tick();
  EXPECT_EQ(it.shown("conv", "change"), 1 + 4);
  EXPECT_EQ(it.shown("conv", "change", "Probe (other)"), 4 + 9);
}

TEST(LensActivity, OfTwoLensesWithDifferentRestsComparesEachOnlyWithItsOwnValues) {
  Layered it(
      "lenses:\n  - probe_lens: {active: 2, measures: previous}\n"
      "  - {probe: {id: other, active: 3, measures: previous}, as: other}\n");
  for (int tick = 1; tick <= 4; ++tick) {
    it.forward({static_cast<float>(tick)});
    it.tick();
  }
  // Only the lens `other` measured 3, just before 4.
  EXPECT_EQ(it.shown("conv", "dot_previous"), 0);
}

TEST(LensActivity, AMeasurementSharedByLensesWithDifferentPassesIsNotComparedAcrossThem) {
  Layered it(
      "lenses:\n  - probe_lens: {measures: sums, passes: training}\n  - {probe: {id: other}, as: other}\n"
      "  - {probe: {id: third, measures: previous, passes: training}, as: third}\n");
  it.forward({2});
  it.forward({100}, /*evaluation*/ 0);
  it.forward({3});
  it.tick();
  EXPECT_EQ(it.shown("conv", "dot_previous", "Probe (third)"), 6);
}

TEST(LensActivity, StaysWithinTheActiveEpochsOfTheInspector) {
  Monitored it("attach: {active: 2}\nlenses: [probe_lens: {active: 3, pushes: true}]\n");
  for (int tick = 1; tick <= 12; ++tick) {
    it.monitor.push("x", tick, 0);
    it.tick();
  }
  EXPECT_EQ(it.stage.take_notes("lens report"), (Texts{"lens report 6", "lens report 12"}));
  it.monitor.set_active([](int64_t tick) { return tick != 15; });
  for (int tick = 13; tick <= 18; ++tick) it.tick();
  EXPECT_EQ(it.stage.take_notes("lens report"), Texts{"lens report 18"});
}

TEST(LensActivity, OfANewModuleStartsAtTheNextTurnOfTheLens) {
  Monitored it("lenses: [probe_lens: {active: 2}]\n");
  it.tick();
  const auto layer = it.add("conv");  // in an epoch in which the lens is active
  Monitored::forward(*layer, {7});
  it.tick();
  EXPECT_EQ(it.shown("conv", "sum"), 7);
  const auto later = it.add("later");
  Monitored::forward(*later, {8});
  it.tick();
  EXPECT_FALSE(it.shown("later", "sum"));
  Monitored::forward(*later, {9});
  it.tick();
  EXPECT_EQ(it.shown("later", "sum"), 9);
  EXPECT_EQ(it.shown("later", "sum count"), 1);
}

std::atomic<double> now{0};

/// The monitor's clock, which advances only when a test says so.
class LensCostTest : public testing::Test {
 protected:
  LensCostTest() {
    now = 1000;
    set_steady_clock([] { return now.load(); });
  }
  ~LensCostTest() override { set_steady_clock(nullptr); }

  /// Each note with this beginning takes this many seconds.
  static void takes(Stage& stage, const std::string& beginning, double seconds) {
    stage.listen([beginning, seconds](const std::string& note) {
      if (note.compare(0, beginning.size(), beginning) == 0) now += seconds;
    });
  }
  /// Trains for `seconds` with this many forwards, and ticks.
  static void epoch(Monitored& it, ModuleNode& layer, double seconds, int forwards = 1) {
    for (int i = 0; i < forwards; ++i) Monitored::forward(layer, {1});
    now += seconds;
    it.monitor.tick(std::nullopt);
    it.monitor.display().wait();  // or the time of a slow visualizer would overlap the next epoch
  }
};

TEST_F(LensCostTest, ALensWhosePreprocessorsAreSlowIsNamedOnceWithItsShare) {
  Layered it("lenses:\n  - probe_lens\n  - {probe: {id: other}, as: other}\n");
  takes(it.stage, "other.numbers process", 0.25);
  epoch(it, *it.layer, 0.75);
  EXPECT_TRUE(it.stage.take_messages().empty());  // a single slow epoch may be due to a busy machine
  for (int i = 0; i < 3; ++i) epoch(it, *it.layer, 0.75);
  EXPECT_EQ(it.stage.take_messages(),
            Texts{"the lens 'other' takes 25 % of the time since the last tick (0.25 of 1.00 s); set 'active: 10' to "
                  "measure every 10th epoch, or select fewer modules or parameters with include"});
}

TEST_F(LensCostTest, ALensWithASlowReportIsNamed) {
  Layered it("lenses: [probe_lens]\n");
  takes(it.stage, "lens report", 0.5);
  for (int i = 0; i < 3; ++i) epoch(it, *it.layer, 0.5);
  EXPECT_SAYS(only(it.stage.take_messages()), "the lens 'probe_lens' takes 50 % of the time");
}

TEST_F(LensCostTest, AShortTimeOrASmallShareIsNotNamed) {
  Layered it("lenses: [probe_lens]\n");
  takes(it.stage, "lens.numbers process", 0.04);
  for (int i = 0; i < 3; ++i) epoch(it, *it.layer, 0.04);  // half of the time, but too short to report
  takes(it.stage, "lens.numbers process", 1);
  for (int i = 0; i < 3; ++i) epoch(it, *it.layer, 11);
  EXPECT_TRUE(it.stage.take_messages().empty());
}

TEST_F(LensCostTest, IsEstimatedFromFewOfManyEvents) {
  Layered it("lenses: [probe_lens]\n");
  takes(it.stage, "lens.numbers process", 0.001);
  for (int i = 0; i < 2; ++i) epoch(it, *it.layer, 0.957, 1043);  // 16 times 64 events, and a few more
  EXPECT_SAYS(only(it.stage.take_messages()), "takes 51 % of the time since the last tick (1.02 of 2.00 s)");
}

TEST_F(LensCostTest, CountsAllEventsIfThereAreFew) {
  Layered it("lenses: [probe_lens]\n");
  takes(it.stage, "lens.numbers process", 0.25);
  for (const int events : {1, 4, 8, 16, 32, 64, 128, 640}) {
    for (int i = 0; i < events; ++i) it.forward({1});
    EXPECT_DOUBLE_EQ(it.monitor.lenses().at(0)->seconds(), 0.25 * events);
    it.tick();
  }
}

TEST_F(LensCostTest, OneInterruptedEventDoesNotCountForAllUntimedOnes) {
  UsualTime usual;
  for (int i = 0; i < 4; ++i) EXPECT_EQ(usual.of(0.001, 1), 0.001);
  EXPECT_DOUBLE_EQ(usual.of(0.001, 64), 0.064);
  EXPECT_DOUBLE_EQ(usual.of(10, 64), 0.004 * 64);
}

TEST_F(LensCostTest, ASlowVisualizerIsNamedOnceButNoLens) {
  Layered it("lenses: [probe_lens]\nvisualizers: [probe_visualizer]\n");
  takes(it.stage, "shown value", 7.25);
  for (int i = 0; i < 3; ++i) epoch(it, *it.layer, 1);
  const std::string told = only(it.stage.take_messages());
  EXPECT_BEGINS(told, "the visualizer 'probe_visualizer' is more than 5 s behind, and training waits once 64 ticks ");
  EXPECT_SAYS(told, "let it write to a faster place (path, run.dir), or show less: lenses with 'active: 10'");
}

TEST_F(LensCostTest, AVisualizerMayBeSlowDuringAFlush) {
  Monitored it("lenses: [probe_lens]\nvisualizers: [probe_visualizer: {flushes: true}]\n");
  takes(it.stage, "shown flush", 60);
  it.tick();
  it.monitor.display().flush();
  EXPECT_EQ(it.stage.take_notes("shown flush").size(), 1U);
  EXPECT_TRUE(it.stage.take_messages().empty());
}

}  // namespace
}  // namespace loupe
