#include "pipeline/source.h"

#include <gtest/gtest.h>

#include <atomic>

#include "core/clock.h"
#include "monitored.h"

namespace loupe {
namespace {

std::atomic<double> now{0};

/// A monitor whose time passes only where a test says so.
class LensCostTest : public testing::Test {
 protected:
  LensCostTest() {
    now = 1000;
    set_steady_clock([] { return now.load(); });
  }
  ~LensCostTest() override { set_steady_clock(nullptr); }

  /// Each note that begins so takes so long.
  static void takes(Stage& stage, const std::string& beginning, double seconds) {
    stage.listen([beginning, seconds](const std::string& note) {
      if (note.compare(0, beginning.size(), beginning) == 0) now += seconds;
    });
  }
  /// Trains for `seconds` with so many forwards, and ticks.
  static void epoch(Monitored& it, ModuleNode& layer, double seconds, int forwards = 1) {
    for (int i = 0; i < forwards; ++i) Monitored::forward(layer, {1});
    now += seconds;
    it.monitor.tick(std::nullopt);
    it.monitor.display().wait();  // time is to pass in this order
  }
};

TEST_F(LensCostTest, ALensWhosePreprocessorsAreSlowIsNamedOnceWithItsShare) {
  Monitored it("lenses:\n  - probe_lens\n  - {probe: {id: other}, as: other}\n");
  const auto layer = it.add("conv");
  takes(it.stage, "other.numbers process", 0.25);
  epoch(it, *layer, 0.75);
  EXPECT_TRUE(it.stage.take_messages().empty());  // the machine may have been busy once
  for (int i = 0; i < 3; ++i) epoch(it, *layer, 0.75);
  EXPECT_EQ(it.stage.take_messages(),
            Texts{"the lens 'other' takes 25 % of the time since the last tick (0.25 of 1.00 s); give it 'active: 10' "
                  "to look at every 10th epoch, or fewer modules or parameters by include"});
}

TEST_F(LensCostTest, ALensThatIsSlowAtReportingIsNamed) {
  Monitored it("lenses: [probe_lens]\n");
  const auto layer = it.add("conv");
  takes(it.stage, "lens report", 0.5);
  for (int i = 0; i < 3; ++i) epoch(it, *layer, 0.5);
  const Texts messages = it.stage.take_messages();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_SAYS(messages[0], "the lens 'probe_lens' takes 50 % of the time");
}

TEST_F(LensCostTest, WhatIsShortOrASmallShareIsNotNamed) {
  Monitored it("lenses: [probe_lens]\n");
  const auto layer = it.add("conv");
  takes(it.stage, "lens.numbers process", 0.04);
  for (int i = 0; i < 3; ++i) epoch(it, *layer, 0.04);  // half of the time, but nobody waits for that
  takes(it.stage, "lens.numbers process", 1);
  for (int i = 0; i < 3; ++i) epoch(it, *layer, 11);
  EXPECT_TRUE(it.stage.take_messages().empty());
}

TEST_F(LensCostTest, IsEstimatedFromFewOfManyEvents) {
  Monitored it("lenses: [probe_lens]\n");
  const auto layer = it.add("conv");
  takes(it.stage, "lens.numbers process", 0.001);
  for (int i = 0; i < 2; ++i) epoch(it, *layer, 0.957, 1043);  // as many as 16 times 64 stand for, and some
  const Texts messages = it.stage.take_messages();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_SAYS(messages[0], "takes 51 % of the time since the last tick (1.02 of 2.00 s)");
}

TEST_F(LensCostTest, IsThatOfAllEventsAlsoWhereThereAreFew) {
  Monitored it("lenses: [probe_lens]\n");
  const auto layer = it.add("conv");
  takes(it.stage, "lens.numbers process", 0.25);
  for (const int events : {1, 4, 8, 16, 32, 64, 128, 640}) {
    for (int i = 0; i < events; ++i) Monitored::forward(*layer, {1});
    EXPECT_DOUBLE_EQ(it.monitor.lenses().at(0)->seconds(), 0.25 * events);
    it.monitor.tick(std::nullopt);
  }
}

TEST_F(LensCostTest, IsKnownBetweenTicks) {
  Monitored it("lenses: [probe_lens]\n");
  const auto layer = it.add("conv");
  takes(it.stage, "lens.numbers process", 0.25);
  Monitored::forward(*layer, {1});
  Monitored::forward(*layer, {1});
  EXPECT_EQ(it.monitor.lenses().at(0)->seconds(), 0.5);
  it.monitor.tick(std::nullopt);
  EXPECT_EQ(it.monitor.lenses().at(0)->seconds(), 0);
}

TEST_F(LensCostTest, OneInterruptedEventDoesNotCountForTheManyItStandsFor) {
  UsualTime usual;
  for (int i = 0; i < 4; ++i) EXPECT_EQ(usual.of(0.001, 1), 0.001);
  EXPECT_DOUBLE_EQ(usual.of(0.001, 64), 0.064);
  EXPECT_DOUBLE_EQ(usual.of(10, 64), 0.004 * 64);
}

TEST_F(LensCostTest, ASlowVisualizerIsNamedOnceAndNoLensForIt) {
  Monitored it("lenses: [probe_lens]\nvisualizers: [probe_visualizer]\n");
  const auto layer = it.add("conv");
  takes(it.stage, "shown value", 7.25);
  for (int i = 0; i < 3; ++i) epoch(it, *layer, 1);
  EXPECT_EQ(
      it.stage.take_messages(),
      Texts{"the visualizer 'probe_visualizer' took 7.2 s for one call, and training waits where ticks come faster "
            "than they are shown; give it a faster place to write to (path, run.dir), or show less: lenses with "
            "'active: 10' or fewer modules by include"});
}

TEST_F(LensCostTest, AVisualizerThatIsAskedToWaitMayDoSo) {
  Monitored it("lenses: [probe_lens]\nvisualizers: [probe_visualizer: {flushes: true}]\n");
  takes(it.stage, "shown flush", 60);
  it.monitor.tick(std::nullopt);
  it.monitor.display().flush();
  EXPECT_EQ(it.stage.take_notes("shown flush").size(), 1U);
  EXPECT_TRUE(it.stage.take_messages().empty());
}

}  // namespace
}  // namespace loupe
