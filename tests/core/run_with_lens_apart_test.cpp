// A run in which one lens is set apart: what it sees, what the others see, and what the user is told.

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "core/clock.h"
#include "monitored.h"

namespace loupe {
namespace {

/// A trainer whose lens 'slow' takes half of a second of each step of a second, and 'other' next to nothing.
class LensApartOfARun : public testing::Test {
 protected:
  LensApartOfARun() {
    now = 1000;
    set_steady_clock([] { return now; });
  }
  ~LensApartOfARun() override { set_steady_clock(nullptr); }

  static std::string yaml(const std::string& slow = "", const std::string& attach = "") {
    return "attach: {budget: 1%" + attach + "}\nlenses:\n  - {probe: {id: slow, pushes: true" + slow +
           "}, as: slow}\n  - {probe: {id: other, pushes: true}, as: other}\nvisualizers: [probe_visualizer]\n";
  }
  static void begin(Monitored& it) {
    it.stage.listen([](const std::string& note) {
      if (note.compare(0, 20, "slow.numbers process") == 0) now += 0.5;
      if (note.compare(0, 21, "other.numbers process") == 0) now += 0.02;
    });
  }
  static void step(Monitored& it, ModuleNode& layer, float value) {
    now += 1;
    if (it.monitor.looks()) Monitored::forward(layer, {value});
    it.monitor.note_step();
    it.monitor.end_step();
  }
  static void steps(Monitored& it, ModuleNode& layer, int count) {
    for (int i = 0; i < count; ++i) step(it, layer, 1);
  }

  static inline double now;
};

TEST_F(LensApartOfARun, IsToldOnceByNameAndShownWithWhatItSaw) {
  Monitored it(yaml());
  const auto layer = it.add("conv");
  begin(it);
  steps(it, *layer, 200);
  it.monitor.tick(std::nullopt);
  const Texts told = it.stage.take_messages();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_SAYS(told[0], "Loupe looks at one step in 5, with the lens 'slow' at one in 100, from now on");
  EXPECT_EQ(it.monitor.sampling_words(),
            ", looks as often as 1 % of the time allow (now at one step in 5, with the lens 'slow' at one in 100)");
  const Texts notes = it.stage.take_notes("shown text of a note");
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_SAYS(notes[0], "with the lens 'slow' at one in 100");
  for (int epoch = 0; epoch < 2; ++epoch) {
    steps(it, *layer, 1000);
    it.monitor.tick(std::nullopt);
    EXPECT_EQ(it.shown("conv", "sum count", "Probe (other)"), 200);
    EXPECT_EQ(it.shown("conv", "sum count", "Probe (slow)"), 10);
  }
  EXPECT_TRUE(it.stage.take_messages().empty());
}

TEST_F(LensApartOfARun, GetsAllThatIsPushedAndComparesWithinPairsAlone) {
  Monitored it(yaml(", measures: [previous]"));
  const auto layer = it.add("conv");
  begin(it);
  for (int i = 1; i <= 202; ++i) {
    it.monitor.push("x", i, 0);
    step(it, *layer, static_cast<float>(i));
  }
  it.monitor.tick(std::nullopt);
  EXPECT_EQ(it.shown("pushes", "x count", "Probe (slow)"), 202);
  EXPECT_EQ(it.shown("pushes", "x count", "Probe (other)"), 202);
  const auto last = it.shown("conv", "sum", "Probe (slow)");
  EXPECT_LT(it.shown("conv", "sum count", "Probe (slow)"), it.shown("conv", "sum count", "Probe (other)"));
  EXPECT_EQ(it.shown("conv", "dot_previous", "Probe (slow)"), *last * (*last - 1));
}

TEST_F(LensApartOfARun, IsNotMeasuredForWhereItDoesNotLook) {
  Monitored it(yaml(", measures: [previous]"));
  const auto layer = it.add("conv");
  begin(it);
  steps(it, *layer, 1000);
  it.monitor.tick(std::nullopt);
  // What the other one sees of the measurement that they share.
  EXPECT_EQ(it.shown("conv", "dot_previous count", "Probe (other)"),
            it.shown("conv", "dot_previous count", "Probe (slow)"));
  EXPECT_LT(it.shown("conv", "dot_previous count", "Probe (other)").value(), 30);
  EXPECT_GT(it.shown("conv", "sum count", "Probe (other)").value(), 180);
}

TEST_F(LensApartOfARun, LeavesAStreamAsleepThatNobodyElseLooksAt) {
  Monitored it(yaml(", gatherer: probe_gradient, label: weight"));
  const auto layer = it.add("conv");
  begin(it);
  Stream* gradients = layer->stream(LOUPE_TAP_PARAMETER_GRADIENT, "weight");
  ASSERT_NE(gradients, nullptr);
  const FloatTensor gradient({1, 2, 3, 4, 5, 6});
  int awake = 0, looked = 0;
  for (int i = 0; i < 1200; ++i) {
    if (it.monitor.looks()) gradients->dispatch(gradient.get(), training_pass);
    if (i >= 200) awake += it.monitor.looks() && gradients->awake() ? 1 : 0;
    if (i >= 200) looked += it.monitor.looks() ? 1 : 0;
    step(it, *layer, 1);
  }
  EXPECT_EQ(looked, 200);
  EXPECT_EQ(awake, 10);
}

TEST_F(LensApartOfARun, LooksAtAllAfterALossThatIsNotFinite) {
  Monitored it(yaml());
  const auto layer = it.add("conv");
  begin(it);
  steps(it, *layer, 200);
  it.monitor.push("loss", NAN, LOUPE_EVENT_LOSS | training_pass);
  step(it, *layer, 1);
  it.stage.take_notes();
  steps(it, *layer, 20);
  EXPECT_EQ(it.stage.take_notes("slow.numbers process").size(), 20U);
  steps(it, *layer, 200);
  EXPECT_LT(it.stage.take_notes("slow.numbers process").size(), 10U);
}

TEST_F(LensApartOfARun, ThatIsQuarantinedLeavesTheBudgetToTheOthers) {
  Monitored it(yaml());
  const auto layer = it.add("conv");
  begin(it);
  steps(it, *layer, 200);
  it.stage.take_messages();
  it.stage.fail("slow.numbers process*");
  it.stage.listen([](const std::string& note) {
    if (note.compare(0, 21, "other.numbers process") == 0) now += 0.02;
  });
  for (int i = 0; i < 200 && !it.monitor.lenses()[0]->quarantined(); ++i) steps(it, *layer, 1);
  EXPECT_SAYS(it.stage.take_messages().at(0), "is quarantined");
  steps(it, *layer, 50);
  EXPECT_SAYS(it.stage.take_messages().at(0), "Loupe looks at one step in 3 from now on");
}

}  // namespace
}  // namespace loupe
