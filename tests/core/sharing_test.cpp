#include <gtest/gtest.h>

#include <set>

#include "monitored.h"

namespace loupe {
namespace {

constexpr uint32_t evaluation_pass = 0;

/// Where the measurements that the preprocessors saw lie.
std::set<std::string> measurements_seen(const Stage& stage) {
  std::set<std::string> places;
  for (const std::string id : {"lens", "other"}) {
    for (const std::string& note : stage.take_notes(id + ".numbers measurement "))
      places.insert(note.substr(note.rfind(' ')));
  }
  return places;
}

std::size_t bytes_of(const ModuleNode& module) {
  std::size_t sum = 0;
  for (const GathererNode& gatherer : module.gatherers()) sum += gatherer.bytes();
  return sum;
}

TEST(Sharing, TwoLensesThatAskTheSameOfOneStreamCostOneMeasurement) {
  Monitored one("lenses: [probe_lens: {measures: previous}]\n");
  const auto alone = one.add("conv");
  Monitored::forward(*alone, std::vector<float>(1000, 1.0f));
  const std::size_t bytes = bytes_of(*alone);

  Monitored two(
      "lenses:\n  - probe_lens: {measures: previous}\n"
      "  - {probe: {id: other, measures: previous}, as: other}\n");
  const auto layer = two.add("conv");
  EXPECT_EQ(layer->gatherers().size(), 1u);
  Monitored::forward(*layer, std::vector<float>(1000, 1.0f));
  EXPECT_EQ(two.stage.take_notes("probe_forward event"), Texts{"probe_forward event 0"});
  EXPECT_EQ(two.stage.take_notes("lens.numbers process").size(), 1u);
  EXPECT_EQ(two.stage.take_notes("other.numbers process").size(), 1u);
  EXPECT_EQ(measurements_seen(two.stage).size(), 1u);
  Monitored::forward(*layer, std::vector<float>(1000, 2.0f));
  two.monitor.tick(std::nullopt);
  EXPECT_EQ(two.shown("conv", "dot_previous", "Probe"), 2000);  // measured twice, it would be the event by itself
  EXPECT_EQ(two.shown("conv", "dot_previous", "Probe (other)"), 2000);
  EXPECT_GT(bytes, 4000u);  // the last event's elements
  EXPECT_EQ(bytes_of(*layer), bytes);
}

TEST(Sharing, DifferentMeasuresOfOneStreamAreOneMeasurementToo) {
  Monitored it("lenses:\n  - probe_lens: {measures: sums}\n  - {probe: {id: other, measures: activity}, as: other}\n");
  const auto layer = it.add("conv");
  Monitored::forward(*layer, {1, 2});
  EXPECT_EQ(measurements_seen(it.stage).size(), 1u);
}

TEST(Sharing, AGathererWithOtherOptionsIsAnother) {
  Monitored it("lenses:\n  - probe_lens: {kinds: ['a,b']}\n  - {probe: {id: other, kinds: [a, b]}, as: other}\n");
  EXPECT_EQ(it.add("conv")->gatherers().size(), 2u);
}

TEST(Sharing, EveryModuleHasItsOwn) {
  Monitored it("lenses: [probe_lens]\n");
  const auto first = it.add("a");
  const auto second = it.add("b");
  Monitored::forward(*first, {1});
  Monitored::forward(*second, {2});
  it.monitor.tick(std::nullopt);
  EXPECT_EQ(it.shown("a", "sum"), 1);
  EXPECT_EQ(it.shown("b", "sum"), 2);
}

TEST(Sharing, OtherPassesSeenByAnotherLensDoNotChangeWhatAnEventIsComparedWith) {
  for (const bool accompanied : {false, true}) {
    Monitored it(std::string("lenses:\n  - probe_lens: {measures: [previous, change], passes: training}\n") +
                 (accompanied ? "  - {probe: {id: other, measures: [previous, change]}, as: other}\n" : ""));
    const auto layer = it.add("conv");
    Monitored::forward(*layer, {1, 0});
    Monitored::forward(*layer, {50, 50}, evaluation_pass);
    Monitored::forward(*layer, {3, 4});
    it.monitor.tick(std::nullopt);
    EXPECT_EQ(it.shown("conv", "dot_previous", "Probe"), 3) << accompanied;
    EXPECT_EQ(it.shown("conv", "change", "Probe"), 4 + 16) << accompanied;
    if (accompanied) {
      EXPECT_EQ(it.shown("conv", "dot_previous", "Probe (other)"), 350);
    }
  }
}

TEST(Sharing, EachPreprocessorGetsThePassesItAskedFor) {
  Monitored it(
      "lenses:\n  - probe_lens: {passes: training}\n  - {probe: {id: other, passes: evaluation}, as: other}\n");
  const auto layer = it.add("conv");
  Monitored::forward(*layer, {1});
  Monitored::forward(*layer, {2}, evaluation_pass);
  Monitored::forward(*layer, {3}, evaluation_pass);
  it.monitor.tick(std::nullopt);
  EXPECT_EQ(it.shown("conv", "sum count", "Probe"), 1);
  EXPECT_EQ(it.shown("conv", "sum count", "Probe (other)"), 2);
  EXPECT_EQ(it.shown("conv", "sum", "Probe (other)"), 3);
}

TEST(Sharing, WhatNobodyAsksToBeMeasuredIsNot) {
  Monitored it("lenses: [probe_lens: {measures: none}]\n");
  const auto layer = it.add("conv");
  Monitored::forward(*layer, {1});
  EXPECT_TRUE(measurements_seen(it.stage).empty());
  EXPECT_EQ(bytes_of(*layer), 0u);
}

TEST(Sharing, APrimedValueIsWhatTheFirstEventChangedFrom) {
  Monitored it("lenses: [probe_lens: {measures: change}]\n");
  const auto layer = it.add("conv");
  const FloatTensor before({1, 1});
  layer->stream(LOUPE_TAP_FORWARD)->prime(*before.get());
  Monitored::forward(*layer, {2, 3});
  it.monitor.tick(std::nullopt);
  EXPECT_EQ(it.shown("conv", "change"), 1 + 4);
}

}  // namespace
}  // namespace loupe
