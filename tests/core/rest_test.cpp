// A lens that lets its sources rest, or lets a tally sum up usual events.

#include <gtest/gtest.h>
#include <loupe/draft/abi/flags.h>

#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "monitored.h"
#include "pipeline/source.h"

namespace loupe {
namespace {

/// How many events a lens's preprocessor has processed since the last call.
std::size_t processed(const Monitored& it, const std::string& lens) {
  return it.stage.take_notes(lens + ".numbers process").size();
}
std::size_t measured(const Monitored& it, const std::string& lens) {
  return it.stage.take_notes(lens + ".numbers measurement").size();
}

TEST(Rest, FromEventsLetsNothingThroughAndPutsTheTapToSleep) {
  Layered it("lenses: [probe_lens: {rests: [events, nothing]}]\n");
  const Stream& stream = *it.layer->stream(LOUPE_TAP_FORWARD);
  it.forward({1});
  EXPECT_EQ(processed(it, "lens"), 1u);
  it.tick();
  EXPECT_TRUE(stream.resting());
  it.forward({2});
  EXPECT_EQ(processed(it, "lens"), 0u);
  it.tick();
  EXPECT_FALSE(stream.resting());
  it.forward({3});
  it.tick();
  EXPECT_EQ(it.shown("conv", "sum"), 3);
}

TEST(Rest, FromMeasuresKeepsEventsWithoutMeasurements) {
  Layered it("lenses: [probe_lens: {rests: [measures, nothing], tensor: true}]\n");
  it.tick();
  it.forward({1});
  EXPECT_EQ(measured(it, "lens"), 0u);
  EXPECT_EQ(processed(it, "lens"), 1u);
  it.tick();
  EXPECT_EQ(it.shown("conv", "tensor"), 1) << "the event still has its tensor";
  it.forward({2});
  EXPECT_EQ(measured(it, "lens"), 1u);
}

/// Counts how often the inputs of a forward are lent.
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
  Layered it("lenses: [probe_lens: {rests: [tensors, nothing], tensor: true}]\n");
  Stream& stream = *it.layer->stream(LOUPE_TAP_FORWARD);
  TapState state;
  stream.copy_state(&state);
  CountedTensors tensors;
  const auto forward = [&] { stream.dispatch(FloatTensor({1}).get(), training_pass, &tensors); };
  EXPECT_TRUE(state.reads_tensors);
  forward();
  EXPECT_EQ(tensors.times, 1);
  it.tick();
  EXPECT_FALSE(state.reads_tensors);
  EXPECT_FALSE(state.resting);
  EXPECT_EQ(processed(it, "lens"), 1u);
  forward();
  EXPECT_EQ(tensors.times, 1);
  EXPECT_EQ(processed(it, "lens"), 1u);
  it.tick();
  EXPECT_TRUE(state.reads_tensors);
  stream.copy_state(nullptr);
}

TEST(Rest, FromEventsOfAllSourcesIsCopiedToTheTap) {
  Layered it("lenses: [probe_lens: {rests: [events, nothing]}]\n");
  Stream& stream = *it.layer->stream(LOUPE_TAP_FORWARD);
  TapState state;
  stream.copy_state(&state);
  it.tick();
  EXPECT_TRUE(state.resting);
  stream.copy_state(nullptr);
  it.tick();
  EXPECT_FALSE(stream.resting());
  EXPECT_TRUE(state.resting) << "a state that was replaced is no longer updated";
  stream.copy_state(&state);
  EXPECT_FALSE(state.resting);
  stream.copy_state(nullptr);
}

TEST(Tensors, AreLentOnlyToPreprocessorsThatReadThem) {
  Layered it("lenses:\n  - probe_lens: {measures: sums}\n");
  CountedTensors tensors;
  it.layer->stream(LOUPE_TAP_FORWARD)->dispatch(FloatTensor({1}).get(), training_pass, &tensors);
  EXPECT_EQ(tensors.times, 0);
}

TEST(Tensors, AreNotLentForATalliedEvent) {
  Layered it("lenses: [probe_lens: {gatherer: probe_plain, rests: [usual], measures: sums, tensor: true}]\n");
  it.tick();
  CountedTensors tensors;
  it.layer->stream(LOUPE_TAP_FORWARD)->dispatch(FloatTensor({1}).get(), training_pass, &tensors);
  EXPECT_EQ(tensors.times, 0);
  it.layer->stream(LOUPE_TAP_FORWARD)
      ->dispatch(FloatTensor({std::numeric_limits<float>::quiet_NaN()}).get(), training_pass, &tensors);
  EXPECT_EQ(tensors.times, 1);
}

TEST(Rest, OfOneLensDoesNotChangeAnotherLensOfTheStream) {
  for (const std::string what : {"events", "measures"}) {
    Layered it("lenses:\n  - probe_lens: {rests: [" + what +
               ", nothing], measures: [sums, previous, change]}\n"
               "  - {probe: {id: other, measures: change}, as: other}\n");
    it.forward({1});
    it.tick();
    it.forward({3});
    EXPECT_EQ(processed(it, "other"), 2u) << what;
    it.tick();
    EXPECT_EQ(it.shown("conv", "change", "Probe (other)"), 4) << what;
    it.forward({6});
    it.tick();
    EXPECT_EQ(it.shown("conv", "change", "Probe (other)"), 9) << what;
    EXPECT_EQ(it.shown("conv", "sum", "Probe"), 6) << what;
  }
}

TEST(Rest, IsFollowedByNoComparisonWithAnUnmeasuredEvent) {
  Layered it("lenses: [probe_lens: {rests: [events, nothing], measures: change}]\n");
  it.forward({1});
  it.forward({3});
  it.tick();
  EXPECT_EQ(it.shown("conv", "change count"), 2);
  it.forward({50});
  it.tick();
  it.forward({51});
  it.forward({53});
  it.tick();
  EXPECT_EQ(it.shown("conv", "change"), 4);
}

TEST(Rest, FromAnUnknownFlagOfANewerVersionIsIgnored) {
  Layered it("lenses: [probe_lens: {rests: [more]}]\n");
  it.tick();
  it.forward({1});
  it.tick();
  EXPECT_EQ(it.stage.take_messages(), Texts{});
  EXPECT_EQ(it.shown("conv", "sum"), 1);
}

TEST(Rest, IsRefusedOutsideOfAReport) {
  Monitored it("lenses: [probe_lens: {wrong: rest_too_late}]\n");
  it.add("conv")->close();
  it.tick();
  EXPECT_SAYS(only(it.stage.take_notes("lens is refused")), "'rest' was called ");
}

/// How many events the lens's preprocessor has processed since the last call.
std::size_t processed(const Monitored& it) {
  return it.stage.take_notes("lens.numbers process").size();
}

/// A lens whose sources use a tally after its first tick, and stop after the second.
struct Tallied : Monitored {
  explicit Tallied(const std::string& options = "measures: sums")
      : Monitored("lenses: [probe_lens: {rests: [usual, nothing], " + options + "}]\n") {
    monitor.tick(std::nullopt);
  }
  std::shared_ptr<ModuleNode> layer = add("conv");
};

TEST(Tally, SumsUpUsualEventsAndStopsThem) {
  Tallied it;
  Monitored::forward(*it.layer, {1, 2});
  Monitored::forward(*it.layer, {3, 4});
  EXPECT_EQ(processed(it), 0U);
  EXPECT_FALSE(it.layer->stream(LOUPE_TAP_FORWARD)->resting());
  it.tick();
  EXPECT_EQ(it.shown("tally", "events"), 2);
  EXPECT_EQ(it.shown("tally", "sum_squares"), 30);
  EXPECT_EQ(it.shown("tally", "largest is conv"), 25);
}

TEST(Tally, StartsAgainAfterItWasTaken) {
  Tallied it;
  Monitored::forward(*it.layer, {3});
  it.tick();
  it.tick();
  EXPECT_EQ(it.shown("tally", "events"), 0);
  EXPECT_EQ(it.shown("tally", "sum_squares"), 0);
}

TEST(Tally, IsUnusedAfterItsSourceStopsUsingIt) {
  Tallied it;
  it.tick();
  Monitored::forward(*it.layer, {1});
  EXPECT_EQ(processed(it), 1U);
  it.tick();
  EXPECT_EQ(it.shown("tally", "events"), 0);
  EXPECT_EQ(it.shown("conv", "sum"), 1);
}

TEST(Tally, PassesValuesThatAreNotFinite) {
  Tallied it;
  for (const float each : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
    Monitored::forward(*it.layer, {each});
  EXPECT_EQ(processed(it), 2U);
  it.tick();
  EXPECT_EQ(it.shown("tally", "events"), 0);
}

TEST(Tally, PassesAGradientThatWasNotCleared) {
  Tallied it;
  Monitored::forward(*it.layer, {1}, training_pass | LOUPE_DRAFT_EVENT_NOT_CLEARED);
  EXPECT_EQ(processed(it), 1U);
}

TEST(Tally, PassesForwardsThatDoNotTrain) {
  Tallied it;
  for (const uint32_t flags : {uint32_t{LOUPE_EVENT_TRAINING}, uint32_t{LOUPE_EVENT_GRAD_ENABLED}, 0U})
    Monitored::forward(*it.layer, {1}, flags);
  EXPECT_EQ(processed(it), 3U);
  Monitored::forward(*it.layer, {1}, LOUPE_EVENT_TRAINING | LOUPE_EVENT_GRAD_ENABLED);
  EXPECT_EQ(processed(it), 0U);
}

TEST(Tally, CountsEventsThatAreNotZeroAndThatChanged) {
  Tallied it("measures: [sums, change]");
  for (const float each : {0, 0, 1, 2, 2}) Monitored::forward(*it.layer, {each});
  EXPECT_EQ(processed(it), 1U) << "the first event has no previous one";
  it.tick();
  EXPECT_EQ(it.shown("tally", "events"), 4);
  EXPECT_EQ(it.shown("tally", "nonzero_events"), 3);
  EXPECT_EQ(it.shown("tally", "changed_events"), 2);
}

TEST(Tally, PassesEventsWithoutMeasurements) {
  Tallied it("measures: [], tensor: true");
  Monitored::forward(*it.layer, {1});
  EXPECT_EQ(processed(it), 1U);
}

TEST(Tally, IsSharedByItsSourcesAndNamesTheSourceOfTheLastEvent) {
  Monitored both("lenses: [probe_lens: {rests: [usual]}]\n");
  const auto first = both.add("first"), second = both.add("second");
  both.monitor.tick(std::nullopt);
  Monitored::forward(*second, {2});
  Monitored::forward(*first, {1});
  both.monitor.tick(std::nullopt);
  EXPECT_EQ(both.shown("tally", "events"), 2);
  EXPECT_EQ(both.shown("tally", "last is first"), 1);
  EXPECT_EQ(both.shown("tally", "largest is second"), 4);
}

TEST(Tally, LosesNothingIfSeveralThreadsAddAndOneTakes) {
  constexpr uint64_t events = 100000;
  constexpr std::size_t threads = 3;
  loupe_tally tally;
  const loupe_source source;
  loupe_measurement measured{};
  measured.sum_squares = 1;
  std::vector<std::thread> adding;
  for (std::size_t i = 0; i < threads; ++i) {
    adding.emplace_back([&] {
      for (uint64_t event = 0; event < events; ++event) tally.add(source, measured);
    });
  }
  uint64_t taken = 0;
  double sum = 0;
  const auto take = [&] {
    const loupe_tally_sums sums = tally.take();
    taken += sums.events;
    sum += sums.sum_squares;
  };
  while (taken < events) take();
  for (std::thread& each : adding) each.join();
  take();
  EXPECT_EQ(taken, threads * events);
  EXPECT_EQ(sum, static_cast<double>(threads * events));
}

TEST(Tally, IsRefusedOutsideOfAReport) {
  Monitored it("lenses: [probe_lens: {wrong: tally_too_late}]\n");
  it.add("conv")->close();
  it.tick();
  EXPECT_SAYS(only(it.stage.take_notes("lens is refused")), "'make_tally' was called ");
}

TEST(Tally, ThatTheHostDidNotCreateIsAnErrorOfTheLens) {
  Monitored it("lenses: [probe_lens: {wrong: foreign_tally}]\n");
  it.add("conv");
  it.tick();
  EXPECT_SAYS(only(it.stage.take_messages()), "not made for this lens by make_tally");
}

TEST(Tally, IsForPluginsOfTheHostsOwnBuildAlone) {
  Monitored it("lenses: [probe_lens: {wrong: other_build}]\n");
  it.tick();
  EXPECT_EQ(it.stage.take_notes("lens gets no table").size(), 1U);
}

TEST(Tally, OfOneLensDoesNotChangeAnotherLensOfTheStream) {
  Layered it(
      "lenses:\n  - probe_lens: {rests: [usual], measures: [sums, change]}\n"
      "  - {probe: {id: other, measures: change}, as: other}\n");
  it.forward({1});
  it.tick();
  it.forward({3});
  it.tick();
  EXPECT_EQ(it.shown("tally", "events"), 1);
  EXPECT_EQ(it.shown("conv", "change", "Probe (other)"), 4);
}

}  // namespace
}  // namespace loupe
