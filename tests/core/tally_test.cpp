// A lens lets events that are as usual be added up.

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

/// How often the lens's preprocessor was given an event since the last call.
std::size_t processed(const Monitored& it) {
  return it.stage.take_notes("lens.numbers process").size();
}

/// After the first tick its sources use a tally, after the second they do not any more.
struct Tallied : Monitored {
  explicit Tallied(const std::string& options = "measures: sums")
      : Monitored("lenses: [probe_lens: {rests: [usual, nothing], " + options + "}]\n") {
    monitor.tick(std::nullopt);
  }
  std::shared_ptr<ModuleNode> layer = add("conv");
};

TEST(Tally, AddsUpWhatIsUsualAndLetsNothingOfItThrough) {
  Tallied it;
  Monitored::forward(*it.layer, {1, 2});
  Monitored::forward(*it.layer, {3, 4});
  EXPECT_EQ(processed(it), 0U);
  EXPECT_FALSE(it.layer->stream(LOUPE_TAP_FORWARD)->resting());
  it.monitor.tick(std::nullopt);
  EXPECT_EQ(it.shown("tally", "events"), 2);
  EXPECT_EQ(it.shown("tally", "sum_squares"), 30);
  EXPECT_EQ(it.shown("tally", "largest is conv"), 25);
}

TEST(Tally, BeginsAnewOnceItWasTaken) {
  Tallied it;
  Monitored::forward(*it.layer, {3});
  it.monitor.tick(std::nullopt);
  it.monitor.tick(std::nullopt);
  EXPECT_EQ(it.shown("tally", "events"), 0);
  EXPECT_EQ(it.shown("tally", "sum_squares"), 0);
}

TEST(Tally, IsNotUsedAnyMoreOnceItsSourceUsesNone) {
  Tallied it;
  it.monitor.tick(std::nullopt);
  Monitored::forward(*it.layer, {1});
  EXPECT_EQ(processed(it), 1U);
  it.monitor.tick(std::nullopt);
  EXPECT_EQ(it.shown("tally", "events"), 0);
  EXPECT_EQ(it.shown("conv", "sum"), 1);
}

TEST(Tally, LetsThroughWhatIsNotFinite) {
  Tallied it;
  for (const float each : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
    Monitored::forward(*it.layer, {each});
  EXPECT_EQ(processed(it), 2U);
  it.monitor.tick(std::nullopt);
  EXPECT_EQ(it.shown("tally", "events"), 0);
}

TEST(Tally, LetsThroughAGradientThatWasNotCleared) {
  Tallied it;
  Monitored::forward(*it.layer, {1}, training_pass | LOUPE_DRAFT_EVENT_NOT_CLEARED);
  EXPECT_EQ(processed(it), 1U);
}

TEST(Tally, LetsThroughForwardsThatAreNotOfTraining) {
  Tallied it;
  for (const uint32_t flags : {uint32_t{LOUPE_EVENT_TRAINING}, uint32_t{LOUPE_EVENT_GRAD_ENABLED}, 0U})
    Monitored::forward(*it.layer, {1}, flags);
  EXPECT_EQ(processed(it), 3U);
  Monitored::forward(*it.layer, {1}, LOUPE_EVENT_TRAINING | LOUPE_EVENT_GRAD_ENABLED);
  EXPECT_EQ(processed(it), 0U);
}

TEST(Tally, SaysWhichEventWasTheLast) {
  Monitored both("lenses: [probe_lens: {rests: [usual]}]\n");
  const auto first = both.add("first"), second = both.add("second");
  both.monitor.tick(std::nullopt);
  Monitored::forward(*second, {2});
  Monitored::forward(*first, {1});
  both.monitor.tick(std::nullopt);
  EXPECT_EQ(both.shown("tally", "last is first"), 1);
  EXPECT_EQ(both.shown("tally", "largest is second"), 4);
}

TEST(Tally, CountsWhatIsNotZeroAndWhatChanged) {
  Tallied it("measures: [sums, change]");
  for (const float each : {0, 0, 1, 2, 2}) Monitored::forward(*it.layer, {each});
  EXPECT_EQ(processed(it), 1U) << "there was none before the first";
  it.monitor.tick(std::nullopt);
  EXPECT_EQ(it.shown("tally", "events"), 4);
  EXPECT_EQ(it.shown("tally", "nonzero_events"), 3);
  EXPECT_EQ(it.shown("tally", "changed_events"), 2);
}

TEST(Tally, LetsThroughWhatIsNotMeasured) {
  Tallied it("measures: [], tensor: true");
  Monitored::forward(*it.layer, {1});
  EXPECT_EQ(processed(it), 1U);
}

TEST(Tally, IsSharedByTheSourcesThatUseIt) {
  Monitored both("lenses: [probe_lens: {rests: [usual]}]\n");
  const auto first = both.add("first"), second = both.add("second");
  both.monitor.tick(std::nullopt);
  Monitored::forward(*first, {1});
  Monitored::forward(*second, {2});
  both.monitor.tick(std::nullopt);
  EXPECT_EQ(both.shown("tally", "events"), 2);
  EXPECT_EQ(both.shown("tally", "largest is second"), 4);
}

TEST(Tally, LosesNothingOfSeveralThreadsNorOfWhatIsTakenMeanwhile) {
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

TEST(Tally, IsNotMadeOutOfTurn) {
  Monitored it("lenses: [probe_lens: {wrong: tally_too_late}]\n");
  it.add("conv")->close();
  it.monitor.tick(std::nullopt);
  const Texts told = it.stage.take_notes("lens is refused");
  ASSERT_EQ(told.size(), 1U);
  EXPECT_NE(told[0].find("'make_tally' is called "), std::string::npos) << told[0];
}

TEST(Tally, NotMadeByTheHostIsAFaultOfTheLens) {
  Monitored it("lenses: [probe_lens: {wrong: foreign_tally}]\n");
  it.add("conv");
  it.monitor.tick(std::nullopt);
  const Texts told = it.stage.take_messages();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_NE(told[0].find("make_tally did not give"), std::string::npos) << told[0];
}

TEST(Tally, IsForPluginsOfTheHostsOwnBuildAlone) {
  Monitored it("lenses: [probe_lens: {wrong: other_build}]\n");
  it.monitor.tick(std::nullopt);
  EXPECT_EQ(it.stage.take_notes("lens gets no table").size(), 1U);
}

TEST(Tally, OfOneLensLeavesAnotherOfTheSameStreamAsItWas) {
  Monitored it(
      "lenses:\n  - probe_lens: {rests: [usual], measures: [sums, change]}\n"
      "  - {probe: {id: other, measures: change}, as: other}\n");
  const auto layer = it.add("conv");
  Monitored::forward(*layer, {1});
  it.monitor.tick(std::nullopt);
  Monitored::forward(*layer, {3});
  it.monitor.tick(std::nullopt);
  EXPECT_EQ(it.shown("tally", "events"), 1);
  EXPECT_EQ(it.shown("conv", "change", "Probe (other)"), 4);
}

}  // namespace
}  // namespace loupe
