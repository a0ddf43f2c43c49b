// Which steps are looked at, and how a budget chooses them. No clock runs here: times are numbers.

#include "pipeline/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "core/clock.h"
#include "monitored.h"

namespace loupe {
namespace {

/// '+' for each step that is looked at.
std::string looks(Sampling& sampling, int steps) {
  std::string text;
  for (int i = 0; i < steps; ++i) {
    text += sampling.looking() ? '+' : '.';
    sampling.end_step();
  }
  return text;
}

TEST(Sampling, LooksAtTheFirstTwoOfEachTwiceNSteps) {
  Sampling third(3);
  EXPECT_EQ(looks(third, 14), "++....++....++");
  Sampling all(1);
  EXPECT_EQ(looks(all, 5), "+++++");
}

TEST(Sampling, LooksAtEveryStepForAWhileFromTheNextOnWhereAsked) {
  Sampling sampling(5);
  looks(sampling, 4);
  sampling.look_fully(3);
  EXPECT_EQ(looks(sampling, 12), ".+++..++....");
}

TEST(LookSchedule, LooksAtTheFirstStepsOfAFurtherModel) {
  LookSchedule schedule(1, 1, 0.03);
  while (schedule.looks()) schedule.end_step(true);
  schedule.begin_model();
  schedule.end_step(true);
  for (uint64_t i = 0; i < Budget::opening; ++i) {
    EXPECT_TRUE(schedule.looks()) << i;
    schedule.end_step(true);
  }
}

/// The epochs of so many steps, each with a '|' before it.
std::string looks_in_epochs(Sampling& sampling, int epochs, int steps) {
  std::string text;
  for (int i = 0; i < epochs; ++i) {
    text += "|" + looks(sampling, steps);
    sampling.begin_epoch();
  }
  return text;
}

TEST(Sampling, LooksAtTheBeginningOfEachEpochThatIsLongEnough) {
  Sampling third(3);
  EXPECT_EQ(looks_in_epochs(third, 3, 7), "|++....+|++.....|++.....") << "the first epoch's length is unknown";
  Sampling second(2);
  EXPECT_EQ(looks_in_epochs(second, 2, 9), "|++..++..+|++..++...");
}

TEST(Sampling, LooksAtTheBeginningOfSomeEpochsWhereEachWouldBeTooOften) {
  Sampling sampling(5);
  EXPECT_EQ(looks_in_epochs(sampling, 6, 4), "|++..|....|....|++..|....|....");
}

TEST(Sampling, GoesOnInAnEpochThatIsLongerThanTheOneBefore) {
  Sampling sampling(2);
  looks_in_epochs(sampling, 1, 5);
  EXPECT_EQ(looks(sampling, 12), "++...++..++.");
}

TEST(Sampling, TakesAnotherDistanceWithoutBreakingAPair) {
  Sampling sampling(1);
  looks(sampling, 2);
  sampling.set_every(3);
  EXPECT_EQ(looks(sampling, 8), "++....++");
}

/// A trainer whose steps take a second, and longer where they are looked at.
struct Trainer {
  explicit Trainer(double share) : budget(share) {}
  /// Returns the share of the time that looking took.
  double run(int steps, double added, double step = 1) {
    double looked = 0;
    for (int i = 0; i < steps; ++i) {
      const double more = sampling.looking() ? added : 0;
      looked += more;
      changes += budget.step(step + more, sampling.looking()) ? 1 : 0;
      sampling.set_every(budget.every());
      looked_at += sampling.looking() ? 1 : 0;
      sampling.end_step();
    }
    return looked / (steps * step);
  }
  Budget budget;
  Sampling sampling{1};
  int changes = 0, looked_at = 0;
};

TEST(Budget, HoldsTheShareAfterTheFirstFiftySteps) {
  for (const double added : {0.08, 0.17, 0.5, 1.0}) {
    Trainer trainer(0.01);
    trainer.run(50, added);
    EXPECT_LE(trainer.run(20000, added), 0.01) << added;
    EXPECT_EQ(trainer.changes, 1) << "told once";
  }
}

TEST(Budget, HoldsInEveryWindowOf200StepsWhatItMayTakeInOne) {
  for (double added = 0.02; added < 1.2; added += 0.01) {
    Trainer trainer(0.01);
    trainer.run(50, added);
    std::vector<double> taken;
    for (int i = 0; i < 1500; ++i) taken.push_back(trainer.run(1, added));
    for (std::size_t first = 0; first + 200 <= taken.size(); ++first) {
      const auto begin = taken.begin() + static_cast<std::ptrdiff_t>(first);
      ASSERT_LE(std::accumulate(begin, begin + 200, 0.0) / 200, 0.012 + 1e-9) << added << " from step " << first;
    }
    EXPECT_LE(trainer.changes, 2) << "told once it is known, and when half a second is over";
  }
}

TEST(Budget, LooksAtEveryStepUntilThatHasTakenHalfASecond) {
  Trainer trainer(0.03);
  trainer.run(300, 0.001);
  EXPECT_GT(trainer.looked_at, 285) << "but for those to compare with";
  EXPECT_EQ(trainer.changes, 1) << "told as soon as it is known";
  EXPECT_EQ(trainer.budget.words().find("looks at one step in 2 once looking has taken half a second: "), 0U);
  trainer.run(400, 0.001);
  EXPECT_LT(trainer.looked_at, 620);
  EXPECT_EQ(trainer.changes, 2) << "and when it is so";
  EXPECT_EQ(trainer.budget.words().find("looks at one step in 2 from now on: "), 0U);
}

TEST(Budget, NeverLooksMoreOftenThanAskedFor) {
  Budget budget(0.03, 5);
  Sampling sampling(budget.every());
  int looked_at = 0;
  for (int i = 0; i < 500; ++i) {
    looked_at += sampling.looking() ? 1 : 0;
    budget.step(1, sampling.looking());
    sampling.set_every(budget.every());
    sampling.end_step();
  }
  EXPECT_EQ(looked_at, 100);
}

TEST(Budget, TakesWhatLiesBetweenTwoEpochsForNoCostOfTheirFirstSteps) {
  Trainer trainer(0.03);
  trainer.run(100, 0.1);
  const uint64_t before = trainer.budget.every();
  for (int epoch = 0; epoch < 50; ++epoch) {
    trainer.budget.begin_epoch();
    trainer.sampling.begin_epoch();
    trainer.run(1, 0.1, 20);
    trainer.run(19, 0.1);
  }
  EXPECT_EQ(trainer.budget.every(), before);
}

TEST(Budget, LooksAtEverySecondStepWhereLookingCostsNextToNothing) {
  Trainer trainer(0.01);
  trainer.run(1000, 0.001);
  EXPECT_EQ(trainer.budget.every(), 2U);
  EXPECT_NEAR(trainer.budget.used_share(), 0.0005, 1e-6);
}

TEST(Budget, FollowsACostThatGrowsAndOneThatFalls) {
  Trainer trainer(0.01);
  trainer.run(200, 0.1);
  const uint64_t before = trainer.budget.every();
  trainer.run(2000, 0.4);
  EXPECT_GE(trainer.budget.every(), 3 * before);
  trainer.run(20000, 0.02);
  EXPECT_LT(trainer.budget.every(), before);
}

TEST(Budget, TakesNoNoticeOfAStepInWhichTheMachineDidSomethingElse) {
  Trainer trainer(0.01);
  trainer.run(100, 0.1);
  const uint64_t before = trainer.budget.every();
  for (int i = 0; i < 5; ++i) {
    trainer.run(1, 0.1, 50);
    trainer.run(300, 0.1);
  }
  EXPECT_EQ(trainer.budget.every(), before);
}

TEST(Budget, ALoopThatDoesMoreAtEverySecondStepIsNoDifferentWhenItIsLookedAt) {
  Trainer trainer(0.01);
  for (int i = 0; i < 300; ++i) {
    trainer.run(1, 0.1, 0.5);
    trainer.run(1, 0.1, 1.5);
  }
  EXPECT_NEAR(trainer.budget.added_seconds(), 0.1, 1e-9);
  EXPECT_NEAR(trainer.budget.step_seconds(), 1, 1e-9);
}

TEST(Budget, SaysInWordsWhatItChose) {
  Trainer trainer(0.01);
  trainer.run(100, 0.18);
  EXPECT_EQ(trainer.budget.words(),
            "looks at one step in 20 from now on: to look at one adds 18 % to its time, so that it takes 0.9 % of all; "
            "attach.budget is 1 %");
}

TEST(Budget, AMachineThatGetsSlowerIsNotTakenForTheCostOfLooking) {
  Trainer trainer(0.01);
  double step = 1;
  for (int i = 0; i < 400; ++i) {
    trainer.run(1, 0.1 * step, step);
    step *= 1.002;
  }
  EXPECT_NEAR(trainer.budget.added_seconds() / trainer.budget.step_seconds(), 0.1, 0.04);
  EXPECT_LE(trainer.changes, 2);
}

/// A step of a trainer, as taps tell it.
void step(Monitored& it, ModuleNode& layer, float value) {
  if (it.monitor.looks()) Monitored::forward(layer, {value});
  it.monitor.note_step();
  it.monitor.end_step();
}

class BudgetedSteps : public testing::Test {
 protected:
  BudgetedSteps() {
    now = 1000;
    set_steady_clock([] { return now.load(); });
  }
  ~BudgetedSteps() override { set_steady_clock(nullptr); }
  static inline std::atomic<double> now;  // read by the thread of the visualizers, too
};

TEST_F(BudgetedSteps, TellTheUserAndTheVisualizersOnceHowOftenTheyAreLookedAt) {
  Layered it("attach: {budget: 1%}\nlenses: [probe_lens]\nvisualizers: [probe_visualizer]\n");
  EXPECT_EQ(it.monitor.sampling_words(), ", looks as often as 1 % of the time allows");
  for (int i = 0; i < 300; ++i) {
    now = now + (it.monitor.looks() ? 1.085 : 1);
    step(it, *it.layer, 1);
  }
  it.tick();
  Texts told = it.stage.take_messages();
  // By this clock a visualizer may take hours.
  std::erase_if(told, [](const std::string& each) { return each.find("the visualizer") == 0; });
  EXPECT_SAYS(only(told), "Loupe looks at one step in 10 from now on");
  EXPECT_EQ(it.stage.take_notes("shown note").size(), 1U);
}

TEST(History, OfLargeParametersIsSaidToBeEstimatedByName) {
  Monitored it("attach: {history: 4096}\nlenses: [probe_lens]\nvisualizers: [probe_visualizer]\n");
  const auto model = std::make_shared<ModelNode>("net", "net", "Net");
  for (int i = 0; i < 7; ++i) {
    ModuleDescription description;
    description.name = description.path = "fc" + std::to_string(i);
    description.parameters = {{"weight", 0, {100, 50}, 5000}, {"bias", 0, {100}, 100}};
    description.parameters.push_back({"running_mean", LOUPE_PARAMETER_BUFFER, {9999}, 9999});
    it.monitor.add_module(std::move(description), model);
  }
  it.monitor.announce(*model);
  it.tick();
  Texts notes = it.stage.take_notes("shown text of a note");
  notes.erase(std::remove_if(notes.begin(), notes.end(),
                             [](const std::string& note) { return note.find("estimated") == std::string::npos; }),
              notes.end());
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("estimated from at most 4096 elements of each of 7 of 14 parameters: fc0.weight, fc1.weight, "
                          "fc2.weight, fc3.weight, fc4.weight and 2 more; so is what compares outputs"),
            std::string::npos)
      << notes[0];
}

TEST(History, OfSmallParametersIsWholeAndNotSpokenOf) {
  Monitored it("attach: {history: 4096}\nlenses: [probe_lens]\nvisualizers: [probe_visualizer]\n");
  const auto model = std::make_shared<ModelNode>("net", "net", "Net");
  it.add("fc", LOUPE_MODULE_LEAF, model);
  it.monitor.announce(*model);
  it.tick();
  EXPECT_EQ(it.stage.take_notes("shown note").size(), 0U);
}

TEST(History, IsAsLongAsTheConfigurationSays) {
  struct Case {
    const char* attach;
    std::size_t elements;
    bool is_sampled;
  };
  for (const Case& each : {Case{"{history: 4096}", 40000, true}, Case{"{history: 0}", 40000, false},
                           Case{"{}", 60000, false}, Case{"{}", 200000, true}, Case{"{history: 0}", 200000, false}}) {
    Layered it(std::string("attach: ") + each.attach + "\nlenses: [probe_lens: {measures: [sums, change]}]\n");
    std::vector<float> values(each.elements, 1);
    it.forward(values);
    std::fill(values.begin(), values.begin() + 8, 3.0F);  // a change that only one run of a sample can have seen
    const std::size_t half = each.elements / 2;
    std::fill(values.end() - static_cast<std::ptrdiff_t>(half), values.end(), 2.0F);
    it.forward(values);
    it.tick();
    const double change = it.shown("conv", "change").value(), exact = static_cast<double>(half + 32);
    EXPECT_NEAR(change, exact, exact / 20) << each.attach << " " << each.elements;
    EXPECT_EQ(change != exact, each.is_sampled) << each.attach << " " << each.elements;
  }
}

TEST(SampledSteps, CompareWithinPairsAndNeverAcrossTheStepsBetween) {
  Layered it("attach: {every: 3}\nlenses: [probe_lens: {measures: [sums, previous]}]\n");
  int begun = 0;
  it.host.on_looking_changed = [&] { begun += it.monitor.looks() ? 1 : 0; };
  for (int i = 1; i <= 8; ++i) step(it, *it.layer, static_cast<float>(i));
  it.tick();
  EXPECT_EQ(it.shown("conv", "sum count"), 4);  // steps 1, 2, 7, 8
  EXPECT_EQ(it.shown("conv", "dot_previous"), 7 * 8) << "the last; 2 * 7 would be across the gap";
  EXPECT_EQ(begun, 1);
}

TEST(SampledSteps, TakeEveryPushAndLookAtAllAfterALossThatIsNotFinite) {
  Layered it("attach: {every: 50}\nlenses: [probe_lens: {pushes: true}]\n");
  const uint32_t loss = LOUPE_EVENT_LOSS | training_pass;
  for (int i = 1; i <= 10; ++i) {
    it.monitor.push("loss", 1, loss);
    step(it, *it.layer, 1);
  }
  EXPECT_FALSE(it.monitor.looks());
  EXPECT_EQ(it.stage.take_notes("lens.numbers process").size(), 10U + 2U) << "all losses, two forwards";
  it.monitor.push("loss", NAN, loss);
  EXPECT_FALSE(it.monitor.looks()) << "the step that is on is not seen from its beginning";
  step(it, *it.layer, 1);
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(it.monitor.looks()) << i;
    step(it, *it.layer, 1);
  }
  EXPECT_FALSE(it.monitor.looks());
}

TEST(SampledSteps, GoOnWhereLookingBeginsAgainAfterInactiveEpochs) {
  Layered it("attach: {every: 10, active: 2}\nlenses: [probe_lens]\n");
  EXPECT_FALSE(it.monitor.looks());
  step(it, *it.layer, 1);
  step(it, *it.layer, 1);
  step(it, *it.layer, 1);
  it.tick();
  EXPECT_TRUE(it.monitor.looks());
}

TEST(SampledSteps, ThatNoTapSeesAreAllLookedAt) {
  Monitored it("attach: {every: 10}\nlenses: [probe_lens]\n");
  it.add("conv");
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(it.monitor.looks());
    it.monitor.note_step();
    it.monitor.end_step(/*seen=*/false);
  }
}

TEST(TicksByThemselves, ComeAtTheStepsOfTheClockAlone) {
  Monitored it("run: {tick: {steps: 3}}\nlenses: [probe_lens]\n");
  it.add("conv");
  it.host.on_tick_due = [&] { it.monitor.tick_if_due(); };
  for (int i = 0; i < 7; ++i) {
    it.monitor.note_step();
    it.monitor.end_step();
    it.monitor.note_step(nullptr, /*counts=*/false);
    it.monitor.end_step();
  }
  EXPECT_EQ(it.stage.take_notes("lens report"), (Texts{"lens report 1", "lens report 2"}));
  EXPECT_EQ(it.monitor.step(), 7U);
}

TEST(TicksByThemselves, ShowTheRestAtTheEndOnce) {
  Monitored it("run: {tick: {steps: 3}}\nlenses: [probe_lens]\nvisualizers: [probe_visualizer]\n");
  it.add("conv");
  it.host.on_tick_due = [&] { it.monitor.tick_if_due(); };
  for (int i = 0; i < 4; ++i) {
    it.monitor.note_step();
    it.monitor.end_step();
  }
  it.monitor.tick_rest();
  it.monitor.tick_rest();
  EXPECT_EQ(it.stage.take_notes("lens report"), (Texts{"lens report 1", "lens report 2"}));
}

TEST(TicksByThemselves, CountFromATickThatTheTrainerAsksFor) {
  Monitored it("run: {tick: {steps: 3}}\nlenses: [probe_lens]\n");
  it.host.on_tick_due = [&] { it.monitor.tick_if_due(); };
  const auto steps = [&](int count) {
    for (int i = 0; i < count; ++i) {
      it.monitor.note_step();
      it.monitor.end_step();
    }
  };
  steps(2);
  it.tick();
  steps(2);
  EXPECT_EQ(it.stage.take_notes("lens report").size(), 1U);
  steps(1);
  EXPECT_EQ(it.stage.take_notes("lens report").size(), 1U);
}

TEST(TicksByThemselves, WaitWhereTheStepsThreadIsNotTheirs) {
  Monitored it("run: {tick: {steps: 1}}\nlenses: [probe_lens]\n");
  it.monitor.note_step();
  it.monitor.end_step();  // nobody sees to it
  EXPECT_TRUE(it.stage.take_notes("lens report").empty());
  EXPECT_TRUE(it.monitor.tick_if_due());
  EXPECT_FALSE(it.monitor.tick_if_due());
}

}  // namespace
}  // namespace loupe
