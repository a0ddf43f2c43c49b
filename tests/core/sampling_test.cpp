// Which steps Loupe measures, and how a budget chooses them. No clock runs here: the tests give times as numbers.

#include "pipeline/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/own_time.h"
#include "monitored.h"

namespace loupe {
namespace {

/// One character per step: '+' if it is measured, '.' if not.
std::string looks(Sampling& sampling, int steps, const Bucket* bucket = nullptr) {
  std::string text;
  for (int i = 0; i < steps; ++i) {
    text += sampling.looking() ? '+' : '.';
    sampling.end_step(bucket);
  }
  return text;
}

TEST(Sampling, LooksAtTheFirstTwoOfEachTwiceNSteps) {
  Sampling third(3);
  EXPECT_EQ(looks(third, 14), "++....++....++");
  Sampling all(1);
  EXPECT_EQ(looks(all, 5), "+++++");
}

TEST(Sampling, MeasuresEveryStepForAWhileOnRequest) {
  Sampling sampling(5);
  looks(sampling, 4);
  sampling.look_fully(3);
  EXPECT_EQ(looks(sampling, 12), ".+++..++....");
}

TEST(Sampling, MeasuresAtMostOneStepInNEvenWithAFullBucket) {
  const Bucket full(1);
  Sampling fifth(5);
  EXPECT_EQ(looks(fifth, 14, &full), "++........++..");
  fifth.begin_epoch(full);
  EXPECT_EQ(looks(fifth, 8, &full), "++......") << "the epoch before was long enough";
  fifth.begin_epoch(full);
  EXPECT_EQ(looks(fifth, 8, &full), "..++....") << "the epoch before was too short";
}

/// A trainer with a budget. Times are in seconds.
struct Trainer {
  explicit Trainer(double share) : bucket(share) {}
  /// Runs the steps and returns the share of the time that Loupe took.
  double run(int steps, double step, double cost, double passing = 0) {
    const double before = took;
    for (int i = 0; i < steps; ++i) {
      const bool looks = sampling.looking();
      measured += looks ? 1 : 0;
      shown += looks ? '+' : '.';
      took += looks ? cost : passing;
      if (looks) bucket.spend(cost);
      bucket.fill(step, looks ? 0 : passing);
      sampling.end_step(&bucket);
    }
    return (took - before) / (steps * step);
  }
  void begin_epoch() {
    sampling.begin_epoch(bucket);
    bucket.reported();
  }
  Bucket bucket;
  Sampling sampling{1};
  int measured = 0;
  double took = 0;
  std::string shown;
};

TEST(Bucket, PaysForEveryStepUntilTheyHaveTakenHalfASecond) {
  Trainer trainer(0.03);
  trainer.run(1000, 1e-6, 0.001);
  EXPECT_GE(trainer.measured, 500);
  EXPECT_LE(trainer.measured, 502) << "a pair is always completed";
}

TEST(Bucket, KeepsToItsShareAndUsesAlmostAllOfIt) {
  for (const double cost : {0.02, 0.08, 0.5, 1.0, 20.0}) {
    Trainer trainer(0.01);
    trainer.run(10000, 1, cost);
    const double share = trainer.run(100000, 1, cost);
    EXPECT_LE(share, 0.01 + 1e-3) << cost;
    EXPECT_GE(share, 0.009) << cost;
  }
}

TEST(Bucket, FollowsARisingAndAFallingCost) {
  Trainer trainer(0.01);
  for (const double cost : {0.1, 0.4, 0.02}) {
    trainer.run(2000, 1, cost);
    EXPECT_NEAR(trainer.run(20000, 1, cost), 0.01, 0.001) << cost;
  }
}

TEST(Bucket, MeasuresEveryStepIfThatTakesLessThanTheShare) {
  Trainer trainer(0.03);
  trainer.run(5000, 1, 0.02);
  EXPECT_EQ(trainer.measured, 5000);
}

TEST(Bucket, HoldsNoMoreThanHalfASecondAfterALongPause) {
  Trainer trainer(0.03);
  trainer.run(1000, 0.001, 0.001);
  trainer.bucket.fill(3600, 0);
  trainer.measured = 0;
  trainer.run(1000, 1e-6, 0.001);
  EXPECT_LE(trainer.measured, 502);
}

TEST(Bucket, KeepsAQuarterOfTheShareIfUnmeasuredStepsTakeMoreThanAll) {
  Trainer trainer(0.03);
  trainer.run(20000, 0.001, 0.002, 0.001);
  trainer.measured = 0;
  trainer.run(100000, 0.001, 0.002, 0.001);
  EXPECT_NEAR(trainer.measured * 0.002 / 100, 0.03 / 4, 0.001);
}

TEST(Bucket, SavesTheTimeOfUnmeasuredSteps) {
  Trainer trainer(0.03);
  trainer.run(20000, 0.001, 0.002, 1e-5);
  EXPECT_NEAR(trainer.run(100000, 0.001, 0.002, 1e-5), 0.03, 0.001);
}

TEST(Bucket, ForgivesReportsButNoMeasuredStep) {
  const auto is_empty_after = [](Bucket bucket, double seconds) {
    bucket.fill(seconds, 0);
    return bucket.is_empty();
  };
  Bucket reported(0.03), measured(0.03);
  reported.spend_on_report(100);
  measured.spend(100);
  EXPECT_TRUE(is_empty_after(reported, 10));
  EXPECT_FALSE(is_empty_after(reported, 20));
  EXPECT_TRUE(is_empty_after(measured, 3000));
  measured.spend_on_report(1);
  EXPECT_FALSE(is_empty_after(measured, 3400)) << "a report adds nothing to a larger debt";
}

TEST(Bucket, PaysForTheFirstStepsOfEachLongEpoch) {
  Trainer trainer(0.03);
  trainer.run(2000, 0.01, 0.004);
  for (int epoch = 0; epoch < 50; ++epoch) {
    trainer.begin_epoch();
    trainer.shown.clear();
    trainer.run(100 + epoch, 0.01, 0.004);
    EXPECT_EQ(trainer.shown.substr(0, 2), "++") << epoch;
  }
}

TEST(Bucket, KeepsToItsShareWithShortEpochs) {
  Trainer trainer(0.03);
  const double taken_before = trainer.took;
  for (int epoch = 0; epoch < 60000; ++epoch) {
    trainer.run(10, 1e-4, 1e-4);
    trainer.begin_epoch();
  }
  EXPECT_LE(trainer.took - taken_before, 0.03 * 60 + 0.51);
  EXPECT_GE(trainer.took - taken_before, 0.03 * 60);
}

TEST(Bucket, PaysForReportsOfShortEpochsAndForTheStepsAfterThem) {
  Trainer trainer(0.03);
  constexpr double report = 0.001;
  int reports = 0, blank = 0;
  double reporting = 0;
  for (int epoch = 0; epoch < 60000; ++epoch) {
    trainer.shown.clear();
    trainer.run(10, 1e-4, 1e-4);
    if (!trainer.bucket.pays_for_report()) continue;
    ++reports;
    reporting += report;
    trainer.begin_epoch();
    trainer.bucket.spend_on_report(report);
    trainer.shown.clear();
    trainer.run(2, 1e-4, 1e-4);
    blank += trainer.shown == "++" ? 0 : 1;
  }
  EXPECT_EQ(blank, 0) << "each report has measured steps";
  EXPECT_GT(reports, 1000);
  EXPECT_LE(trainer.took + reporting, 0.03 * 61 + 0.51);
}

TEST(Bucket, PaysForAReportAtLeastEachTenSeconds) {
  Bucket bucket(0.03);
  bucket.spend(1000);
  bucket.reported();
  bucket.fill(9, 0);
  EXPECT_FALSE(bucket.pays_for_report());
  bucket.fill(2, 0);
  EXPECT_TRUE(bucket.pays_for_report());
}

/// The measured steps of a rank, if measuring a step takes `cost` seconds.
std::string agreed_looks(double cost, int epochs, int steps) {
  Trainer trainer(0.03);
  trainer.sampling.agree();
  for (int epoch = 0; epoch < epochs; ++epoch) {
    trainer.run(steps, 0.01, cost);
    trainer.begin_epoch();
  }
  return trainer.shown;
}

TEST(Sampling, ThatAgreesMeasuresAlmostAllStepsOfARankThatMeasuresFewer) {
  for (const auto& [epochs, steps] : {std::pair(4000, 10), std::pair(700, 60), std::pair(40, 1000)}) {
    const std::string often = agreed_looks(0.003, epochs, steps), seldom = agreed_looks(0.02, epochs, steps);
    const std::size_t settled = often.size() / 2;
    int few = 0, many = 0, common = 0;
    for (std::size_t at = settled; at < often.size(); ++at) {
      few += seldom[at] == '+' ? 1 : 0;
      many += often[at] == '+' ? 1 : 0;
      common += seldom[at] == '+' && often[at] == '+' ? 1 : 0;
    }
    EXPECT_GT(few, 50) << steps;
    EXPECT_GT(many, 2 * few) << steps;
    EXPECT_GE(common, 0.8 * few) << steps;
    EXPECT_LE(few * 0.02, 0.034 * 0.01 * static_cast<double>(settled)) << steps;
  }
}

TEST(Sampling, ThatAgreesMeasuresMoreWhenTheCostFalls) {
  Trainer trainer(0.03);
  trainer.sampling.agree();
  trainer.run(20000, 0.01, 0.02);
  EXPECT_GE(trainer.sampling.every(), 64U);
  trainer.run(100000, 0.01, 0.0005);
  EXPECT_LE(trainer.sampling.every(), 4U);
}

/// Steps of a trainer on a fake clock.
class BudgetedSteps : public testing::Test {
 protected:
  BudgetedSteps() {
    now = 1000;
    set_steady_clock([] { return now.load(); });
  }
  ~BudgetedSteps() override { set_steady_clock(nullptr); }
  /// Hooks take `cost` seconds in a measured step, and `passing` seconds in others.
  void run(LookSchedule& schedule, int steps, double cost, double passing = 0) {
    for (int i = 0; i < steps; ++i) {
      now = now + 0.01;
      const bool looks = schedule.looks();
      measured_ += looks ? 1 : 0;
      const OwnTime own(OwnTime::Of::hooks);
      const double took = looks ? cost : passing;
      now = now + took;
      took_ += took;
      schedule.end_step(true);
    }
  }
  int measured_ = 0;
  double took_ = 0;
  static inline std::atomic<double> now;  // the visualizers' thread reads it, too
};

TEST_F(BudgetedSteps, KeepToTheBudgetByTheTimeOfTheHooks) {
  LookSchedule schedule(1, 1, 0.03);
  run(schedule, 30000, 0.002);
  EXPECT_NEAR(took_, 0.5 + 0.03 * (now - 1000), 0.01 * 300);
  EXPECT_GT(measured_, 300);
  EXPECT_LT(took_, 0.5 + 0.031 * (now - 1000));
}

TEST_F(BudgetedSteps, SaveTheTimeOfHooksInOtherSteps) {
  LookSchedule schedule(1, 1, 0.03);
  run(schedule, 30000, 0.002, 0.0001);
  EXPECT_LT(took_, 0.5 + 0.032 * (now - 1000));
  EXPECT_GT(measured_, 1000);
}

TEST_F(BudgetedSteps, ReadNoClockInMostUnmeasuredSteps) {
  LookSchedule schedule(1, 1, 0.03);
  run(schedule, 100, 1);
  ASSERT_FALSE(schedule.looks());
  int timed = 0;
  for (int i = 0; i < 160; ++i) {
    timed += OwnTime::is_wanted() ? 1 : 0;
    schedule.end_step(true);
  }
  EXPECT_EQ(timed, 10);
}

TEST_F(BudgetedSteps, AreMeasuredLessWhereTicksTakeTheTime) {
  const auto measured_with = [&](double tick) {
    measured_ = 0;
    LookSchedule schedule(1, 1, 0.03);
    for (int epoch = 0; epoch < 100; ++epoch) {
      run(schedule, 100, 0.002);
      const OwnTime own(OwnTime::Of::reports);
      now = now + tick;
      schedule.begin_epoch(epoch);
    }
    return measured_;
  };
  EXPECT_LT(measured_with(0.02), measured_with(0) / 2);
}

TEST_F(BudgetedSteps, OfAnAddedModelAreMeasured) {
  LookSchedule schedule(1, 1, 0.03);
  run(schedule, 1000, 0.01);
  schedule.begin_epoch(1);
  run(schedule, 100, 0.01);
  while (schedule.looks()) run(schedule, 1, 0.001);
  schedule.begin_model();
  run(schedule, 1, 0.001);
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(schedule.looks()) << i;
    run(schedule, 1, 0.001);
  }
}

/// Makes a step as taps report it.
void step(Monitored& it, ModuleNode& layer, float value) {
  if (it.monitor.looks()) Monitored::forward(layer, {value});
  it.monitor.note_step();
  it.monitor.end_step();
}

/// The notes on cost of a run with this many steps. A measured step takes 0.1 s more.
Texts told_after(const std::string& budget, int steps, std::atomic<double>& now) {
  Layered it("attach: {budget: " + budget + "}\nlenses: [probe_lens]\nvisualizers: [probe_visualizer]\n");
  for (int i = 0; i < steps; ++i) {
    now = now + 1;
    const OwnTime own(OwnTime::Of::hooks);
    now = now + (it.monitor.looks() ? 0.1 : 0);
    step(it, *it.layer, 1);
  }
  it.tick();
  it.monitor.end(LOUPE_END_COMPLETED, nullptr);
  return it.stage.take_notes("shown text of a note");
}

TEST_F(BudgetedSteps, AreCountedOnceAtTheEndWhereSomeWereNotMeasured) {
  EXPECT_SAYS(only(told_after("1%", 300, now)), "of 300 steps were measured");
  EXPECT_TRUE(told_after("1%", 3, now).empty()) << "all steps were measured";
  EXPECT_TRUE(told_after("off", 300, now).empty());
}

TEST_F(BudgetedSteps, AreFirstReportedOnlyInTheSummary) {
  Layered it("attach: {budget: 1%}\nlenses: [probe_lens]\n");
  EXPECT_EQ(it.monitor.sampling_words(), ", measures as many steps as fit into 1 % of the time");
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
                          "fc2.weight, fc3.weight, fc4.weight and 2 more; so are comparisons of outputs"),
            std::string::npos)
      << notes[0];
}

TEST(History, OfSmallParametersIsCompleteAndNotReported) {
  Monitored it("attach: {history: 4096}\nlenses: [probe_lens]\nvisualizers: [probe_visualizer]\n");
  const auto model = std::make_shared<ModelNode>("net", "net", "Net");
  it.add("fc", LOUPE_MODULE_LEAF, model);
  it.monitor.announce(*model);
  it.tick();
  EXPECT_EQ(it.stage.take_notes("shown note").size(), 0U);
}

TEST(History, IsAsLongAsTheConfigurationSets) {
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
    std::fill(values.begin(), values.begin() + 8, 3.0F);  // a change that is in only one run of a sample
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
  EXPECT_EQ(it.shown("conv", "dot_previous"), 7 * 8) << "compares the last pair; 2 * 7 would be across the gap";
  EXPECT_EQ(begun, 1);
}

TEST(SampledSteps, TakeEveryPushAndMeasureAllAfterALossThatIsNotFinite) {
  Layered it("attach: {every: 50}\nlenses: [probe_lens: {pushes: true}]\n");
  const uint32_t loss = LOUPE_EVENT_LOSS | training_pass;
  for (int i = 1; i <= 10; ++i) {
    it.monitor.push("loss", 1, loss);
    step(it, *it.layer, 1);
  }
  EXPECT_FALSE(it.monitor.looks());
  EXPECT_EQ(it.stage.take_notes("lens.numbers process").size(), 10U + 2U) << "all losses and two forwards";
  it.monitor.push("loss", NAN, loss);
  EXPECT_FALSE(it.monitor.looks()) << "measuring starts with the next step";
  step(it, *it.layer, 1);
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(it.monitor.looks()) << i;
    step(it, *it.layer, 1);
  }
  EXPECT_FALSE(it.monitor.looks());
}

TEST(SampledSteps, StartWithTheFirstActiveEpoch) {
  Layered it("attach: {every: 10, active: 2}\nlenses: [probe_lens]\n");
  EXPECT_FALSE(it.monitor.looks());
  step(it, *it.layer, 1);
  step(it, *it.layer, 1);
  step(it, *it.layer, 1);
  it.tick();
  EXPECT_TRUE(it.monitor.looks());
}

TEST(SampledSteps, ThatNoTapSeesAreAllMeasured) {
  Monitored it("attach: {every: 10}\nlenses: [probe_lens]\n");
  it.add("conv");
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(it.monitor.looks());
    it.monitor.note_step();
    it.monitor.end_step(/*seen=*/false);
  }
}

TEST(TicksByThemselves, CountOnlyTheStepsOfTheClock) {
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

TEST(TicksByThemselves, ShowTheRestOnceAtTheEnd) {
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

TEST(TicksByThemselves, CountFromATickOfTheTrainer) {
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

TEST(TicksByThemselves, WaitIfTheStepComesFromAnotherThread) {
  Monitored it("run: {tick: {steps: 1}}\nlenses: [probe_lens]\n");
  it.monitor.note_step();
  it.monitor.end_step();  // no callback makes the tick
  EXPECT_TRUE(it.stage.take_notes("lens report").empty());
  EXPECT_TRUE(it.monitor.tick_if_due());
  EXPECT_FALSE(it.monitor.tick_if_due());
}

}  // namespace
}  // namespace loupe
