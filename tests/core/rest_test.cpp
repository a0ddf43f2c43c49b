// A lens lets its sources rest.

#include <gtest/gtest.h>

#include <limits>

#include "monitored.h"

namespace loupe {
namespace {

/// How often a lens's preprocessor was given an event since the last call.
std::size_t processed(const Monitored& it, const std::string& lens) {
  return it.stage.take_notes(lens + ".numbers process").size();
}
std::size_t measured(const Monitored& it, const std::string& lens) {
  return it.stage.take_notes(lens + ".numbers measurement").size();
}

TEST(Rest, FromEventsLetsNothingThroughAndPutsTheTapToSleep) {
  Monitored it("lenses: [probe_lens: {rests: [events, nothing]}]\n");
  const auto layer = it.add("conv");
  const Stream& stream = *layer->stream(LOUPE_TAP_FORWARD);
  Monitored::forward(*layer, {1});
  EXPECT_EQ(processed(it, "lens"), 1u);
  it.monitor.tick(std::nullopt);
  EXPECT_TRUE(stream.resting());
  Monitored::forward(*layer, {2});
  EXPECT_EQ(processed(it, "lens"), 0u);
  it.monitor.tick(std::nullopt);
  EXPECT_FALSE(stream.resting());
  Monitored::forward(*layer, {3});
  it.monitor.tick(std::nullopt);
  EXPECT_EQ(it.shown("conv", "sum"), 3);
}

TEST(Rest, FromMeasuresBringsTheEventsUnmeasured) {
  Monitored it("lenses: [probe_lens: {rests: [measures, nothing], tensor: true}]\n");
  const auto layer = it.add("conv");
  it.monitor.tick(std::nullopt);
  Monitored::forward(*layer, {1});
  EXPECT_EQ(measured(it, "lens"), 0u);
  EXPECT_EQ(processed(it, "lens"), 1u);
  it.monitor.tick(std::nullopt);
  EXPECT_EQ(it.shown("conv", "tensor"), 1) << "the tensor came";
  Monitored::forward(*layer, {2});
  EXPECT_EQ(measured(it, "lens"), 1u);
}

/// Counts how often somebody is lent what went into a forward.
struct CountedTensors : ForwardTensors {
  void lend(loupe_event& event) override {
    ++times;
    event.inputs = inputs;
    event.input_count = 1;
  }
  FloatTensor input{{5}};
  const loupe_tensor* inputs[1] = {input.get()};
  int times = 0;
};

TEST(Rest, FromTensorsBringsTheEventsWithoutInputsWhichNobodyNeedsToKeep) {
  Monitored it("lenses: [probe_lens: {rests: [tensors, nothing], tensor: true}]\n");
  const auto layer = it.add("conv");
  Stream& stream = *layer->stream(LOUPE_TAP_FORWARD);
  TapState state;
  stream.copy_state(&state);
  CountedTensors tensors;
  const auto forward = [&] { stream.dispatch(FloatTensor({1}).get(), training_pass, &tensors); };
  EXPECT_TRUE(state.reads_tensors);
  forward();
  EXPECT_EQ(tensors.times, 1);
  it.monitor.tick(std::nullopt);
  EXPECT_FALSE(state.reads_tensors);
  EXPECT_FALSE(state.resting);
  EXPECT_EQ(processed(it, "lens"), 1u);
  forward();
  EXPECT_EQ(tensors.times, 1);
  EXPECT_EQ(processed(it, "lens"), 1u);
  it.monitor.tick(std::nullopt);
  EXPECT_TRUE(state.reads_tensors);
  stream.copy_state(nullptr);
}

TEST(Rest, FromEventsOfAllIsCopiedToWhoeverMakesThem) {
  Monitored it("lenses: [probe_lens: {rests: [events, nothing]}]\n");
  const auto layer = it.add("conv");
  Stream& stream = *layer->stream(LOUPE_TAP_FORWARD);
  TapState state;
  stream.copy_state(&state);
  it.monitor.tick(std::nullopt);
  EXPECT_TRUE(state.resting);
  stream.copy_state(nullptr);
  it.monitor.tick(std::nullopt);
  EXPECT_FALSE(stream.resting());
  EXPECT_TRUE(state.resting) << "it is no longer told";
  stream.copy_state(&state);
  EXPECT_FALSE(state.resting);
  stream.copy_state(nullptr);
}

TEST(Tensors, AreLentOnlyToThoseThatReadThem) {
  Monitored it("lenses:\n  - probe_lens: {measures: sums}\n");
  const auto layer = it.add("conv");
  CountedTensors tensors;
  layer->stream(LOUPE_TAP_FORWARD)->dispatch(FloatTensor({1}).get(), training_pass, &tensors);
  EXPECT_EQ(tensors.times, 0);
}

TEST(Tensors, AreNotLentOfAnEventThatIsOnlyAddedUp) {
  Monitored it("lenses: [probe_lens: {gatherer: probe_plain, rests: [usual], measures: sums, tensor: true}]\n");
  const auto layer = it.add("conv");
  it.monitor.tick(std::nullopt);
  CountedTensors tensors;
  layer->stream(LOUPE_TAP_FORWARD)->dispatch(FloatTensor({1}).get(), training_pass, &tensors);
  EXPECT_EQ(tensors.times, 0);
  layer->stream(LOUPE_TAP_FORWARD)
      ->dispatch(FloatTensor({std::numeric_limits<float>::quiet_NaN()}).get(), training_pass, &tensors);
  EXPECT_EQ(tensors.times, 1);
}

TEST(Rest, OfOneLensLeavesAnotherOfTheSameStreamAsItWas) {
  for (const std::string what : {"events", "measures"}) {
    Monitored it("lenses:\n  - probe_lens: {rests: [" + what +
                 ", nothing], measures: [sums, previous, change]}\n"
                 "  - {probe: {id: other, measures: change}, as: other}\n");
    const auto layer = it.add("conv");
    Monitored::forward(*layer, {1});
    it.monitor.tick(std::nullopt);
    Monitored::forward(*layer, {3});
    EXPECT_EQ(processed(it, "other"), 2u) << what;
    it.monitor.tick(std::nullopt);
    EXPECT_EQ(it.shown("conv", "change", "Probe (other)"), 4) << what;
    Monitored::forward(*layer, {6});
    it.monitor.tick(std::nullopt);
    EXPECT_EQ(it.shown("conv", "change", "Probe (other)"), 9) << what;
    EXPECT_EQ(it.shown("conv", "sum", "Probe"), 6) << what;
  }
}

TEST(Rest, IsFollowedByAComparisonWithNothingThatWasNotMeasured) {
  Monitored it("lenses: [probe_lens: {rests: [events, nothing], measures: change}]\n");
  const auto layer = it.add("conv");
  Monitored::forward(*layer, {1});
  Monitored::forward(*layer, {3});
  it.monitor.tick(std::nullopt);
  EXPECT_EQ(it.shown("conv", "change count"), 2);
  Monitored::forward(*layer, {50});
  it.monitor.tick(std::nullopt);
  Monitored::forward(*layer, {51});
  Monitored::forward(*layer, {53});
  it.monitor.tick(std::nullopt);
  EXPECT_EQ(it.shown("conv", "change"), 4);
}

TEST(Rest, FromWhatTheHostDoesNotKnowIsAFaultOfTheLens) {
  Monitored it("lenses: [probe_lens: {rests: [more]}]\n");
  it.add("conv");
  it.monitor.tick(std::nullopt);
  const Texts told = it.stage.take_messages();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("LOUPE_REST_"), std::string::npos) << told[0];
}

TEST(Rest, IsRefusedOutOfTurn) {
  Monitored it("lenses: [probe_lens: {wrong: rest_too_late}]\n");
  it.add("conv")->close();
  it.monitor.tick(std::nullopt);
  const Texts told = it.stage.take_notes("lens is refused");
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("'rest' is called "), std::string::npos) << told[0];
}

}  // namespace
}  // namespace loupe
