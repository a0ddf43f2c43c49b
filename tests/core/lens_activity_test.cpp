// A lens that looks at every n-th epoch, beside others that look at all.

#include <gtest/gtest.h>

#include "monitored.h"

namespace loupe {
namespace {

TEST(LensActivity, LooksAtEveryNthTickAndIsAskedForNoReportAtTheOthers) {
  Monitored it("lenses:\n  - probe_lens: {active: 3}\n  - {probe: {id: other}, as: other}\n");
  const auto layer = it.add("conv");
  std::vector<double> counts;
  for (int tick = 1; tick <= 6; ++tick) {
    Monitored::forward(*layer, {1});
    Monitored::forward(*layer, {2});
    it.monitor.tick(std::nullopt);
    EXPECT_EQ(it.shown("conv", "sum count", "Probe (other)"), 2) << tick;
    counts.push_back(it.shown("conv", "sum count").value_or(0));
  }
  EXPECT_EQ(counts, (std::vector<double>{0, 0, 2, 2, 2, 2}));
  EXPECT_EQ(it.stage.take_notes("lens report"), (Texts{"lens report 3", "lens report 6"}));
  EXPECT_EQ(it.stage.take_notes("lens.numbers process").size(), 4U);
  EXPECT_EQ(it.stage.take_notes("other report").size(), 6U);
}

TEST(LensActivity, LeavesAStreamAsleepThatNobodyElseLooksAt) {
  Monitored it("lenses: [probe_lens: {active: 2}]\n");
  const auto layer = it.add("conv");
  Stream* stream = layer->stream(LOUPE_TAP_FORWARD);
  EXPECT_TRUE(stream->resting());
  Monitored::forward(*layer, {1});
  EXPECT_TRUE(it.stage.take_notes("probe_forward event").empty());  // not even the gatherer is called
  it.monitor.tick(std::nullopt);
  EXPECT_FALSE(stream->resting());
  it.monitor.tick(std::nullopt);
  EXPECT_TRUE(stream->resting());
}

TEST(LensActivity, BeginsAnewAfterAGap) {
  for (const bool accompanied : {false, true}) {
    Monitored it(std::string("lenses:\n  - probe_lens: {active: 2, measures: [previous, change]}\n") +
                 (accompanied ? "  - {probe: {id: other, measures: [previous, change]}, as: other}\n" : ""));
    const auto layer = it.add("conv");
    it.monitor.tick(std::nullopt);
    Monitored::forward(*layer, {1, 1});
    Monitored::forward(*layer, {2, 2});
    it.monitor.tick(std::nullopt);
    EXPECT_EQ(it.shown("conv", "dot_previous"), 4);
    Monitored::forward(*layer, {50, 50});
    it.monitor.tick(std::nullopt);
    Monitored::forward(*layer, {3, 4});  // neither with what it saw last nor with what it slept through
    it.monitor.tick(std::nullopt);
    EXPECT_EQ(it.shown("conv", "dot_previous"), 0) << accompanied;
    EXPECT_EQ(it.shown("conv", "change"), 0) << accompanied;
    if (accompanied) {
      EXPECT_EQ(it.shown("conv", "dot_previous", "Probe (other)"), 350);
      EXPECT_EQ(it.shown("conv", "change", "Probe (other)"), 47 * 47 + 46 * 46);
    }
  }
}

TEST(LensActivity, CountsChangesFromTheValueAtWhichItBeginsAnewAndLeavesOthersTheirs) {
  Monitored it(
      "lenses:\n  - probe_lens: {active: 2, measures: change}\n  - {probe: {id: other, measures: change}, as: "
      "other}\n");
  const auto layer = it.add("conv");
  const FloatTensor now({5, 5});
  it.host.on_looking_changed = [&] { layer->stream(LOUPE_TAP_FORWARD)->prime(*now.get()); };
  Monitored::forward(*layer, {4, 4});
  it.monitor.tick(std::nullopt);
  Monitored::forward(*layer, {6, 7});
  it.monitor.tick(std::nullopt);
  EXPECT_EQ(it.shown("conv", "change"), 1 + 4);
  EXPECT_EQ(it.shown("conv", "change", "Probe (other)"), 4 + 9);
}

TEST(LensActivity, OfTwoThatRestAtOtherTimesComparesEachWithWhatItSaw) {
  Monitored it(
      "lenses:\n  - probe_lens: {active: 2, measures: previous}\n"
      "  - {probe: {id: other, active: 3, measures: previous}, as: other}\n");
  const auto layer = it.add("conv");
  for (int tick = 1; tick <= 4; ++tick) {
    Monitored::forward(*layer, {static_cast<float>(tick)});
    it.monitor.tick(std::nullopt);
  }
  // 3 was seen by the other one alone, right before 4.
  EXPECT_EQ(it.shown("conv", "dot_previous"), 0);
}

TEST(LensActivity, AMeasurementSharedByLensesOfOtherPassesIsNotComparedAcrossThem) {
  Monitored it(
      "lenses:\n  - probe_lens: {measures: sums, passes: training}\n  - {probe: {id: other}, as: other}\n"
      "  - {probe: {id: third, measures: previous, passes: training}, as: third}\n");
  const auto layer = it.add("conv");
  Monitored::forward(*layer, {2});
  Monitored::forward(*layer, {100}, /*evaluation*/ 0);
  Monitored::forward(*layer, {3});
  it.monitor.tick(std::nullopt);
  EXPECT_EQ(it.shown("conv", "dot_previous", "Probe (third)"), 6);
}

TEST(LensActivity, StaysWithinTheEpochsThatTheInspectorLooksAt) {
  Monitored it("attach: {active: 2}\nlenses: [probe_lens: {active: 3, pushes: true}]\n");
  for (int tick = 1; tick <= 12; ++tick) {
    it.monitor.push("x", tick, 0);
    it.monitor.tick(std::nullopt);
  }
  EXPECT_EQ(it.stage.take_notes("lens report"), (Texts{"lens report 6", "lens report 12"}));
  it.monitor.set_active([](int64_t tick) { return tick != 15; });
  for (int tick = 13; tick <= 18; ++tick) it.monitor.tick(std::nullopt);
  EXPECT_EQ(it.stage.take_notes("lens report"), Texts{"lens report 18"});
}

TEST(LensActivity, OfANewModuleBeginsAtTheLensesNextTurn) {
  Monitored it("lenses: [probe_lens: {active: 2}]\n");
  it.monitor.tick(std::nullopt);
  const auto layer = it.add("conv");  // in the epoch that it looks at
  Monitored::forward(*layer, {7});
  it.monitor.tick(std::nullopt);
  EXPECT_EQ(it.shown("conv", "sum"), 7);
  const auto later = it.add("later");
  Monitored::forward(*later, {8});
  it.monitor.tick(std::nullopt);
  EXPECT_FALSE(it.shown("later", "sum"));
  Monitored::forward(*later, {9});
  it.monitor.tick(std::nullopt);
  EXPECT_EQ(it.shown("later", "sum"), 9);
  EXPECT_EQ(it.shown("later", "sum count"), 1);
}

}  // namespace
}  // namespace loupe
