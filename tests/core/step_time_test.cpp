// The time of a step: its parts, the times of a device, and the findings of the lenses step_time and health. The tests
// advance the clocks.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "folder.h"
#include "monitored.h"
#include "says.h"
#include "timing/step_split.h"
#include "timing/step_timer.h"
#include "timing/timed_steps.h"

namespace loupe {
namespace {

/// A split on a fake clock. after() advances the clock by this many seconds and returns its time.
struct Made {
  Made() { split.begin(now); }
  double after(double seconds) { return now += seconds; }
  double of(StepPart part) const { return split.of(part); }
  double sum() const {
    double all = 0;
    for (std::size_t i = 0; i < step_parts; ++i) all += split.of(static_cast<StepPart>(i));
    return all;
  }

  double now = 100;
  StepSplit split;
};

TEST(StepSplit, GivesEachPartOfAPlainStepItsTimeAndAddsUpToIt) {
  Made it;
  it.split.enter_forward(0, true, it.after(5));  // the step waits 5 s for data
  it.split.leave_forward(it.after(2));
  it.split.enter_forward(1, true, it.after(0.5));  // includes a function between two layers
  it.split.leave_forward(it.after(1));
  it.split.enter_node(1, it.after(0.25));  // includes the loss
  it.split.leave_node(it.after(2));
  it.split.enter_node(0, it.after(0.25));
  it.split.leave_node(it.after(4));
  it.split.enter_optimizer(it.after(1));  // includes clipping
  it.split.leave_optimizer(it.after(3));
  const double seconds = it.split.end(it.after(0.5));

  EXPECT_DOUBLE_EQ(it.of(StepPart::waiting), 5);
  EXPECT_DOUBLE_EQ(it.of(StepPart::forward), 3.5);
  EXPECT_DOUBLE_EQ(it.of(StepPart::backward), 6.5);
  EXPECT_DOUBLE_EQ(it.of(StepPart::optimizer), 3);
  EXPECT_DOUBLE_EQ(it.of(StepPart::other), 1.5);
  EXPECT_DOUBLE_EQ(it.of(StepPart::loupe), 0);
  EXPECT_DOUBLE_EQ(it.sum(), seconds);
}

TEST(StepSplit, ExcludesChildrenAndLoupeFromALayersTime) {
  Made it;
  it.split.enter_forward(0, true, it.after(0));
  it.split.enter_loupe(it.after(1));
  it.split.enter_loupe(it.after(2));  // a nested hook
  it.split.leave_loupe(it.after(4));
  it.split.leave_loupe(it.after(8));
  it.split.enter_forward(1, true, it.after(16));
  it.split.leave_forward(it.after(32));
  it.split.leave_forward(it.after(64));
  it.split.enter_node(1, it.after(0));
  it.split.enter_loupe(it.after(3));
  it.split.leave_loupe(it.after(5));
  it.split.leave_node(it.after(7));
  const double seconds = it.split.end(it.now);

  EXPECT_DOUBLE_EQ(it.split.layers()[0].forward, 1 + 16 + 64);
  EXPECT_DOUBLE_EQ(it.split.layers()[1].forward, 32);
  EXPECT_DOUBLE_EQ(it.split.layers()[1].backward, 10);
  EXPECT_EQ(it.split.layers()[0].calls, 1U);
  EXPECT_DOUBLE_EQ(it.of(StepPart::loupe), 14 + 5);
  EXPECT_DOUBLE_EQ(it.sum(), seconds);
}

TEST(StepSplit, DoesNotCountActingOrEvaluationAsWaiting) {
  Made it;
  it.split.enter_forward(0, false, it.after(1));  // time before an agent acts
  it.split.leave_forward(it.after(2));
  it.split.enter_forward(0, false, it.after(4));  // time of the simulated world
  it.split.leave_forward(it.after(2));
  it.split.enter_forward(0, true, it.after(4));
  it.split.leave_forward(it.after(8));
  it.split.enter_forward(1, false, it.after(0.5));  // a forward of the target network
  it.split.leave_forward(it.after(1));
  it.split.enter_node(0, it.after(0.5));
  it.split.leave_node(it.after(8));
  const double seconds = it.split.end(it.now);

  EXPECT_DOUBLE_EQ(it.of(StepPart::waiting), 0);
  EXPECT_DOUBLE_EQ(it.of(StepPart::forward), 8 + 0.5);
  EXPECT_DOUBLE_EQ(it.of(StepPart::backward), 8 + 0.5);
  EXPECT_DOUBLE_EQ(it.of(StepPart::other), 1 + 2 + 4 + 2 + 4 + 1);
  EXPECT_EQ(it.split.layers()[0].calls, 1U) << "forwards that do not train count for no layer";
  EXPECT_DOUBLE_EQ(it.sum(), seconds);
}

TEST(StepSplit, TakesAForwardInEvalModeForTheForwardIfOnlyItsGraphGoesBackward) {
  const auto step = [](bool trains_later) {
    Made it;
    it.split.enter_forward(0, false, it.after(1));
    it.split.leave_forward(it.after(2), /*has_graph=*/true);
    it.split.enter_forward(0, false, it.after(0));  // acts or validates
    it.split.leave_forward(it.after(16));
    if (trains_later) {
      it.split.enter_forward(0, true, it.after(0));
      it.split.leave_forward(it.after(64));
    }
    it.split.enter_node(0, it.after(4));  // includes the loss
    it.split.leave_node(it.after(8));
    const double seconds = it.split.end(it.now);
    EXPECT_DOUBLE_EQ(it.sum(), seconds);
    EXPECT_DOUBLE_EQ(it.of(StepPart::backward), 4 + 8);
    return it.of(StepPart::forward);
  };
  EXPECT_DOUBLE_EQ(step(false), 2) << "the model was left in eval mode";
  EXPECT_DOUBLE_EQ(step(true), 64);
}

TEST(StepSplit, CountsWorkOnTheGradientsOfEachSampleAsOther) {
  Made it;
  for (int sample = 0; sample < 3; ++sample) {
    it.split.enter_forward(0, true, it.after(sample == 0 ? 1 : 3));  // after the first, with clipping
    it.split.leave_forward(it.after(1));
    it.split.enter_node(0, it.after(0));
    it.split.leave_node(it.after(1));
  }
  it.split.end(it.now);
  EXPECT_DOUBLE_EQ(it.of(StepPart::waiting), 3);
  EXPECT_DOUBLE_EQ(it.of(StepPart::other), 4);
}

TEST(StepSplit, WaitsAgainForTheNextBatchWithAccumulatedGradients) {
  Made it;
  for (int batch = 0; batch < 3; ++batch) {
    it.split.enter_forward(0, true, it.after(2));
    it.split.leave_forward(it.after(1));
    it.split.enter_node(0, it.after(0));
    it.split.leave_node(it.after(1));
  }
  it.split.enter_optimizer(it.after(0));
  it.split.leave_optimizer(it.after(1));
  const double seconds = it.split.end(it.now);
  EXPECT_DOUBLE_EQ(it.of(StepPart::waiting), 6);
  EXPECT_DOUBLE_EQ(it.sum(), seconds);
}

TEST(StepSplit, KeepsAClosuresWorkWithinTheOptimizersStep) {
  Made it;
  it.split.enter_optimizer(it.after(1));
  for (int i = 0; i < 2; ++i) {
    it.split.enter_forward(0, true, it.after(1));  // work of the optimizer
    it.split.leave_forward(it.after(2));
    it.split.enter_node(0, it.after(0));
    it.split.leave_node(it.after(4));
  }
  it.split.leave_optimizer(it.after(1));
  const double seconds = it.split.end(it.now);
  EXPECT_DOUBLE_EQ(it.of(StepPart::optimizer), 3);
  EXPECT_DOUBLE_EQ(it.of(StepPart::forward), 4);
  EXPECT_DOUBLE_EQ(it.of(StepPart::backward), 8);
  EXPECT_DOUBLE_EQ(it.sum(), seconds);
}

TEST(StepSplit, MeasuresABackwardPassOnOtherThreads) {
  Made it;
  it.split.enter_forward(0, true, it.after(1));
  it.split.leave_forward(it.after(1));
  it.split.note_elsewhere(it.now + 3);
  it.split.enter_optimizer(it.after(4));
  it.split.leave_optimizer(it.after(1));
  const double seconds = it.split.end(it.now);
  EXPECT_DOUBLE_EQ(it.of(StepPart::backward), 3);
  EXPECT_DOUBLE_EQ(it.of(StepPart::other), 1);
  EXPECT_DOUBLE_EQ(it.sum(), seconds);
}

TEST(StepSplit, CountsARecomputationInABackwardPassAsBackward) {
  Made it;
  it.split.enter_node(-1, it.after(0));
  it.split.enter_forward(0, true, it.after(1));
  it.split.leave_forward(it.after(2));
  it.split.leave_node(it.after(4));
  it.split.end(it.now);
  EXPECT_DOUBLE_EQ(it.of(StepPart::backward), 7);
  EXPECT_DOUBLE_EQ(it.split.layers()[0].backward, 2);
  EXPECT_DOUBLE_EQ(it.split.layers()[0].forward, 0);
}

TEST(StepSplit, AcceptsAStepThatBeginsBetweenAnEnterAndALeave) {
  Made it;
  it.split.leave_forward(it.after(1));
  it.split.leave_node(it.after(1));
  it.split.leave_optimizer(it.after(1));
  it.split.leave_loupe(it.after(1));
  EXPECT_DOUBLE_EQ(it.split.end(it.after(1)), 5);
  EXPECT_DOUBLE_EQ(it.sum(), 5);
  it.split.begin(it.now);
  EXPECT_DOUBLE_EQ(it.split.end(it.after(2)), 2);
  EXPECT_DOUBLE_EQ(it.sum(), 2) << "the previous step left nothing";
}

double host_time = 0;

struct Queue {
  double time = 0;
  DeviceClock::State state = DeviceClock::State::reached;
  bool tells_times = true;
  bool is_current = true;
};
Queue queue;

class QueueClock : public DeviceClock {
 public:
  void mark() override { marks_.push_back(queue.time); }
  bool is_current() const override { return queue.is_current; }
  State state() override { return queue.state; }
  double seconds(std::size_t mark) override {
    if (!queue.tells_times) throw std::runtime_error("no times");
    return marks_.at(mark) - marks_.front();
  }

 private:
  std::vector<double> marks_;
};

class DeviceStep : public testing::Test {
 protected:
  DeviceStep() : it("lenses: []\n"), first(it.add("first")), second(it.add("second")) {
    host_time = 100;
    queue = {};
    set_steady_clock([] { return host_time; });
  }
  ~DeviceStep() override {
    timer.drop(this, /*ends=*/true);
    timer.step_over();
    set_steady_clock(nullptr);
  }

  /// Advances the device by this time; the host queues all work within a millisecond.
  static void device(double milliseconds) { queue.time += 1e-3 * milliseconds; }
  void forward(const std::shared_ptr<ModuleNode>& module, int64_t made, double milliseconds) {
    StepTimer::here()->enter_forward(module.get(), true, made, [&] { return StepTimer::Nodes{module}; });
    device(milliseconds);
    StepTimer::here()->leave_forward(made + 1);
  }
  void backward(int64_t number, double milliseconds) {
    timer.enter_node_elsewhere(number, "node");
    device(milliseconds);
    timer.leave_node_elsewhere();
  }
  void train(uint64_t number = 1, StepTimer::Extras wish = {}) {
    timer.request(this, wish);
    timer.step_over([] { return std::make_unique<QueueClock>(); });
    ASSERT_NE(StepTimer::here(), nullptr);
    device(1);
    forward(first, 1, 2);
    forward(second, 2, 3);
    host_time += 1e-3;
    std::thread([&] {
      backward(2, 6);
      backward(1, 4);
      const LoupeTime loupe;
      device(7);
    }).join();
    timer.enter_optimizer();
    device(5);
    timer.leave_optimizer();
    timer.close(this, number);
    timer.step_over();
  }
  static double milliseconds(const TimedStep& step, StepPart part) {
    return 1e3 * step.parts[static_cast<std::size_t>(part)];
  }

  Monitored it;
  std::shared_ptr<ModuleNode> first, second;
  StepTimer& timer = StepTimer::instance();
};

TEST_F(DeviceStep, HasTheTimesOfTheQueueInPartsThatAddUp) {
  train(7);
  const auto step = timer.take(this);
  ASSERT_TRUE(step);
  EXPECT_TRUE(step->on_device);
  EXPECT_EQ(step->number, 7U);
  EXPECT_NEAR(milliseconds(*step, StepPart::waiting), 1, 1e-9);
  EXPECT_NEAR(milliseconds(*step, StepPart::forward), 5, 1e-9);
  EXPECT_NEAR(milliseconds(*step, StepPart::backward), 10, 1e-9);
  EXPECT_NEAR(milliseconds(*step, StepPart::optimizer), 5, 1e-9);
  EXPECT_NEAR(milliseconds(*step, StepPart::other), 7, 1e-9) << "that thread runs no node";
  double all = 0;
  for (const double part : step->parts) all += part;
  EXPECT_NEAR(1e3 * step->seconds, 28, 1e-9);
  EXPECT_NEAR(all, step->seconds, 1e-12);
}

TEST_F(DeviceStep, HasEachLayersTimesEvenIfNodesRunOnAutogradsThread) {
  train();
  const auto step = timer.take(this);
  ASSERT_TRUE(step);
  ASSERT_EQ(step->layers.size(), 2U);
  EXPECT_NEAR(1e3 * step->layers[0].time.forward, 2, 1e-9);
  EXPECT_NEAR(1e3 * step->layers[0].time.backward, 4, 1e-9);
  EXPECT_NEAR(1e3 * step->layers[1].time.backward, 6, 1e-9);
}

TEST_F(DeviceStep, IsTracedWithTheTimesOfTheQueue) {
  train(1, {.trace = true});
  const auto step = timer.take(this);
  ASSERT_TRUE(step);
  std::vector<const TimedStep::Span*> backward;
  for (const TimedStep::Span& span : step->spans) {
    if (span.kind == TimedStep::Span::Kind::backward) backward.push_back(&span);
  }
  ASSERT_EQ(backward.size(), 2U);
  EXPECT_EQ(backward[0]->name, "node");
  EXPECT_EQ(backward[0]->layer, 1);
  EXPECT_NEAR(1e3 * (backward[0]->begin - step->begin), 6, 1e-6);
  EXPECT_NEAR(1e3 * (backward[0]->end - step->begin), 12, 1e-6);
}

TEST_F(DeviceStep, IsTakenOnceTheDeviceHasGotThereAndNobodyWaits) {
  queue.state = DeviceClock::State::pending;
  train(3);
  EXPECT_FALSE(timer.take(this));
  train(4);
  EXPECT_FALSE(timer.take(this));
  queue.state = DeviceClock::State::reached;
  EXPECT_EQ(timer.take(this)->number, 3U);
  EXPECT_EQ(timer.take(this)->number, 4U);
  EXPECT_FALSE(timer.take(this));
}

TEST_F(DeviceStep, SurvivesATickBeforeTheDeviceHasFinished) {
  queue.state = DeviceClock::State::pending;
  train();
  timer.drop(this);
  queue.state = DeviceClock::State::reached;
  EXPECT_TRUE(timer.take(this));
}

TEST_F(DeviceStep, CountsOnlyTheFirstOfTwoNodesThatRunAtOnce) {
  timer.request(this, {});
  timer.step_over([] { return std::make_unique<QueueClock>(); });
  forward(first, 1, 2);
  forward(second, 2, 3);
  timer.enter_node(2, "node");
  device(6);
  std::thread([&] { backward(1, 4); }).join();
  timer.leave_node();
  timer.close(this, 1);
  timer.step_over();
  const auto step = timer.take(this);
  ASSERT_TRUE(step);
  EXPECT_NEAR(1e3 * step->layers[1].time.backward, 10, 1e-9);
  EXPECT_EQ(step->layers[0].time.backward, 0);
}

TEST_F(DeviceStep, KeepsTheHostsTimesIfTheDeviceHasNone) {
  queue.state = DeviceClock::State::failed;
  train();
  const auto failed = timer.take(this);
  queue.state = DeviceClock::State::reached;
  queue.tells_times = false;
  train();
  const auto silent = timer.take(this);
  for (const auto& step : {failed, silent}) {
    ASSERT_TRUE(step);
    EXPECT_FALSE(step->on_device);
    EXPECT_NEAR(1e3 * step->seconds, 1, 1e-9);
  }
}

TEST_F(DeviceStep, LeavesOutNodesOfAnotherDevice) {
  queue.is_current = false;
  train();
  const auto step = timer.take(this);
  ASSERT_TRUE(step);
  EXPECT_EQ(step->layers[1].time.backward, 0);
  EXPECT_NEAR(milliseconds(*step, StepPart::backward), 0, 1e-9);
}

TEST_F(DeviceStep, CountsLoupesWorkWithinANodeAsItsOwn) {
  timer.request(this, {});
  timer.step_over([] { return std::make_unique<QueueClock>(); });
  forward(first, 1, 2);
  std::thread([&] {
    timer.enter_node_elsewhere(1, "node");
    device(4);
    {
      const LoupeTime loupe;
      device(3);
    }
    timer.leave_node_elsewhere();
  }).join();
  timer.close(this, 1);
  timer.step_over();
  const auto step = timer.take(this);
  ASSERT_TRUE(step);
  EXPECT_NEAR(milliseconds(*step, StepPart::backward), 4, 1e-9);
  EXPECT_NEAR(milliseconds(*step, StepPart::loupe), 3, 1e-9);
}

double now = 0;

/// The times of a step's parts, in milliseconds.
struct Step {
  double waiting = 1, forward = 4, backward = 8, optimizer = 2, other = 0, loupe = 0;
};

/// Trains a model of two layers. The second is twice as slow as the first.
class TimedStepsTest : public testing::Test {
 protected:
  TimedStepsTest() {
    static constexpr TimingTable timing{&make_step_timing, nullptr, nullptr};
    link_part(Part::timing, &timing);
    now = 1000;
    set_steady_clock([] { return now; });
  }
  ~TimedStepsTest() override { set_steady_clock(nullptr); }

  void begin(const std::string& yaml, int layers = 2) {
    modules.clear();
    it.reset();
    it = std::make_unique<Monitored>(yaml);
    it->host.on_finding = [this](const loupe_finding& finding) { told.push_back(Finding(finding)); };
    for (int i = 0; i < layers; ++i)
      modules.push_back(it->add("fc" + std::to_string(i), LOUPE_MODULE_LEAF | LOUPE_MODULE_TAPPED));
  }
  static void pass(double milliseconds) { now += milliseconds / 1e3; }

  /// @param within  work after the forward
  void step(const Step& takes = {}, const std::function<void()>& within = nullptr) {
    pass(takes.waiting);
    for (std::size_t i = 0; i < modules.size(); ++i) run(i, takes.forward * share(i));
    if (within) within();
    for (std::size_t i = modules.size(); i-- > 0;) {
      if (StepTimer* timer = StepTimer::here()) timer->enter_node(static_cast<int64_t>(i) + 1, "AddmmBackward0");
      pass(takes.backward * share(i));
      if (StepTimer* timer = StepTimer::here()) timer->leave_node();
    }
    pass(takes.other);
    if (StepTimer* timer = StepTimer::here()) timer->enter_optimizer();
    pass(takes.optimizer);
    if (StepTimer* timer = StepTimer::here()) timer->leave_optimizer();
    {
      const LoupeTime time;
      pass(takes.loupe);
      it->monitor.note_step();
      it->monitor.end_step();
    }
    StepTimer::instance().step_over();
  }
  void run(std::size_t i, double milliseconds, bool trains = true) { run(i, milliseconds, trains, i + 1); }
  /// @param number  autograd's number of the node that the forward creates; the numbers ascend in a step
  void run(std::size_t i, double milliseconds, bool trains, std::size_t number) {
    StepTimer* timer = StepTimer::here();
    const auto made = static_cast<int64_t>(number);
    if (timer != nullptr)
      timer->enter_forward(modules[i].get(), trains, made, [&] { return StepTimer::Nodes{modules[i]}; });
    pass(milliseconds);
    if (timer != nullptr) timer->leave_forward(made + 1);
  }
  double share(std::size_t i) const {
    if (i + 1 == modules.size()) return 2.0 / static_cast<double>(modules.size() + 1);
    return 1.0 / static_cast<double>(modules.size() + 1);
  }
  void epoch(const Step& takes = {}, int steps = 100) {
    for (int i = 0; i < steps; ++i) step(takes);
    it->monitor.tick(std::nullopt);
  }
  double shown(const std::string& line) { return it->shown("Step Time", line, "Step Time").value_or(NAN); }
  std::vector<std::string> rules() const {
    std::vector<std::string> names;
    for (const Finding& each : told) {
      if (each.state == LOUPE_FINDING_RAISED) names.push_back(each.rule);
    }
    return names;
  }

  struct Finding {
    explicit Finding(const loupe_finding& told)
        : rule(told.rule), message(told.message), state(told.state), value(told.value) {}
    std::string rule, message;
    uint32_t state;
    double value;
  };
  std::unique_ptr<Monitored> it;
  std::vector<std::shared_ptr<ModuleNode>> modules;
  std::vector<Finding> told;
};

TEST_F(TimedStepsTest, AreShownInPartsThatAddUpToTheStep) {
  begin("lenses: [step_time]\n");
  epoch({.waiting = 3, .forward = 6, .backward = 12, .optimizer = 2, .other = 1, .loupe = 0.5});
  EXPECT_NEAR(shown("waiting for data"), 3, 1e-6);
  EXPECT_NEAR(shown("forward"), 6, 1e-6);
  EXPECT_NEAR(shown("loss and backward"), 12, 1e-6);
  EXPECT_NEAR(shown("optimizer step"), 2, 1e-6);
  EXPECT_NEAR(shown("other"), 1, 1e-6);
  EXPECT_NEAR(it->shown("Loupe Time", "Loupe", "Loupe Time").value_or(NAN), 0.5, 1e-6) << "not part of the step";
}

TEST_F(TimedStepsTest, ShowEachLayersOwnTimeAndShare) {
  begin("lenses: [step_time]\n");
  epoch({.forward = 6, .backward = 12});
  EXPECT_NEAR(it->shown("fc0", "forward", "Layer Time").value_or(NAN), 2, 1e-6);
  EXPECT_NEAR(it->shown("fc0", "backward", "Layer Time").value_or(NAN), 4, 1e-6);
  EXPECT_NEAR(it->shown("fc1", "backward", "Layer Time").value_or(NAN), 8, 1e-6);
  EXPECT_NEAR(it->shown("Layer Time Share", "fc1", "Layer Time Share").value_or(NAN), 2.0 / 3, 1e-6);
  EXPECT_FALSE(it->shown("fc0", "calls", "Layer Calls")) << "each layer ran once";
}

TEST_F(TimedStepsTest, CountHowOftenALayerRuns) {
  begin("lenses: [step_time]\n");
  for (int i = 0; i < 50; ++i) {
    step({}, [&] {
      run(0, 1);
      run(0, 1);
    });
  }
  it->monitor.tick(std::nullopt);
  EXPECT_EQ(it->shown("fc0", "calls", "Layer Calls"), 3);
  EXPECT_EQ(it->shown("fc1", "calls", "Layer Calls"), std::nullopt);
}

TEST_F(TimedStepsTest, AreOneInSeventeenThenFewerAndAtLeastOnePerEpoch) {
  begin("lenses: [step_time]\n");
  int timed = 0;
  for (int i = 0; i < 124; ++i) step({}, [&] { timed += StepTimer::here() != nullptr ? 1 : 0; });
  EXPECT_EQ(timed, 8);
  for (int i = 124; i < 326; ++i) step({}, [&] { timed += StepTimer::here() != nullptr ? 1 : 0; });
  EXPECT_EQ(timed, 10);
  it->monitor.tick(std::nullopt);
  for (int each = 0; each < 4; ++each) {
    timed = 0;
    for (int i = 0; i < 9; ++i) step({}, [&] { timed += StepTimer::here() != nullptr ? 1 : 0; });
    EXPECT_EQ(timed, 1);
    it->monitor.tick(std::nullopt);
  }
}

TEST_F(TimedStepsTest, SkipAStepThatContainsATick) {
  begin("lenses: [step_time]\n");
  for (int i = 0; i < 60; ++i) {
    step({}, [&] {
      if (StepTimer::here() == nullptr || i > 30) return;
      pass(1000);
      it->monitor.tick(std::nullopt);
    });
  }
  it->monitor.tick(std::nullopt);
  EXPECT_NEAR(shown("forward"), 4, 1e-6);
  EXPECT_NEAR(shown("loss and backward"), 8, 1e-6);
}

TEST_F(TimedStepsTest, AreOnlyTimedOnRequest) {
  begin("lenses: []\n");
  for (int i = 0; i < 40; ++i) step({}, [] { EXPECT_EQ(StepTimer::here(), nullptr); });
}

TEST_F(TimedStepsTest, EndWithTheirMonitor) {
  begin("lenses: [step_time]\n");
  while (StepTimer::here() == nullptr) step();
  const auto kept = modules;
  it.reset();
  begin("lenses: [step_time]\n");
  epoch();
  EXPECT_NEAR(shown("forward"), 4, 1e-6) << "the step of the earlier monitor does not count for this one";
}

TEST_F(TimedStepsTest, ThatWaitForDataAreToldWithTheirShare) {
  begin("lenses: [health]\n");
  for (int i = 0; i < 3; ++i) epoch({.waiting = 30, .forward = 4, .backward = 6});
  ASSERT_EQ(rules(), (std::vector<std::string>{"input_bound"}));
  EXPECT_SAYS(told[0].message, "71 % of each step is spent waiting for data before its forward: 30 ms of 42 ms");
}

/// A measurer without measurements.
struct IdleDevice : DeviceMeasurer {
  void prime(const loupe_tensor&) override {}
  void forget() override {}
  void measure(const loupe_tensor&, uint32_t, uint64_t) override {}
  void collect(const Deliver&) override {}
};

TEST_F(TimedStepsTest, OfADeviceThatOnlyTheHostTimedAreNotJudgedWhichIsSaidOnce) {
  set_device_measurer_factory(
      [](const loupe_request&, int64_t) -> std::unique_ptr<DeviceMeasurer> { return std::make_unique<IdleDevice>(); });
  begin("lenses: [health: {off: [slower_each_epoch]}]\n");
  for (int i = 0; i < 3; ++i) {
    Monitored::forward(*modules[0], {1, 2}, training_pass, LOUPE_DEVICE_CUDA);
    epoch({.waiting = 30, .forward = 4, .backward = 6});
  }
  EXPECT_TRUE(rules().empty());
  const std::vector<std::string> messages = it->stage.take_messages();
  EXPECT_EQ(std::count_if(messages.begin(), messages.end(),
                          [](const std::string& message) {
                            return message.find("these rules do not apply: input_bound;") != std::string::npos;
                          }),
            1);
  set_device_measurer_factory({});
}

TEST_F(TimedStepsTest, ThatNoLongerWaitResolveTheFinding) {
  begin("lenses: [health]\n");
  for (int i = 0; i < 3; ++i) epoch({.waiting = 30});
  for (int i = 0; i < 12; ++i) epoch();
  ASSERT_GE(told.size(), 2U);
  EXPECT_EQ(told.back().state, LOUPE_FINDING_GONE);
}

TEST_F(TimedStepsTest, ThatWaitOnlyShortlyAreNotReported) {
  for (const Step& takes : {Step{.waiting = 13}, {.waiting = 0.9, .forward = 0.1, .backward = 0.1, .optimizer = 0.1}}) {
    begin("lenses: [health]\n");
    for (int i = 0; i < 4; ++i) epoch(takes);
    EXPECT_TRUE(rules().empty()) << takes.waiting;
  }
}

TEST_F(TimedStepsTest, ThatTheMachineRarelyDelaysAreNotReported) {
  begin("lenses: [health]\n");
  int timed = 0;
  for (int i = 0; i < 800; ++i) {
    const bool is_timed = StepTimer::here() != nullptr;
    timed += is_timed ? 1 : 0;
    step({.waiting = is_timed && timed % 9 == 4 ? 500.0 : 1.0});
    if (i % 100 == 99) it->monitor.tick(std::nullopt);
  }
  EXPECT_TRUE(rules().empty());
}

TEST_F(TimedStepsTest, ThatEvaluateOrActInBetweenDoNotWait) {
  begin("lenses: [health]\n");
  for (int each = 0; each < 4; ++each) {
    for (int i = 0; i < 100; ++i) {
      run(0, 50, /*trains=*/false);
      pass(50);
      step();
    }
    it->monitor.tick(std::nullopt);
  }
  EXPECT_TRUE(rules().empty());
}

TEST_F(TimedStepsTest, ThatGrowSlowerWithEachEpochAreTold) {
  begin("lenses: [health]\n");
  for (int i = 0; i < 9; ++i) epoch({.backward = 8.0 + 2 * i});
  ASSERT_EQ(rules(), (std::vector<std::string>{"slower_each_epoch"}));
  EXPECT_SAYS(told[0].message, "mostly in the loss and the backward pass");
}

TEST_F(TimedStepsTest, ThatGrowWithTheInputsOrUnsteadilyAreNotReported) {
  begin("lenses: [health]\n");
  for (int i = 0; i < 9; ++i) epoch({.forward = 4.0 + 2 * i, .backward = 8.0 + 4 * i});  // a curriculum
  for (int i = 0; i < 12; ++i) epoch({.backward = i % 2 == 0 ? 8.0 : 30.0});             // a busy machine
  epoch({.backward = 50});                                                               // the machine is busy again
  EXPECT_TRUE(rules().empty());
}

TEST_F(TimedStepsTest, OfASlowFirstEpochAreNotReported) {
  begin("lenses: [health]\n");
  epoch({.waiting = 14});
  for (int i = 0; i < 9; ++i) epoch();
  EXPECT_TRUE(rules().empty());
}

TEST_F(TimedStepsTest, WithOneSlowLayerAreReported) {
  begin("lenses: [step_time]\n", 10);
  const auto slow_epoch = [&] {
    for (int each = 0; each < 100; ++each) step({}, [&] { run(3, 60); });
    it->monitor.tick(std::nullopt);
  };
  slow_epoch();
  for (int i = 0; i < 4; ++i) epoch();
  EXPECT_TRUE(rules().empty()) << "a single slow epoch is due to the machine";
  for (int i = 0; i < 6; ++i) slow_epoch();
  ASSERT_EQ(rules(), (std::vector<std::string>{"one_layer_dominates"}));
  EXPECT_SAYS(told[0].message, "'fc3' takes 8");
  EXPECT_SAYS(told[0].message, " % of the time of all 10 layers: ");
  told.clear();
  for (int i = 0; i < 6; ++i) epoch();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].state, LOUPE_FINDING_GONE);
}

TEST_F(TimedStepsTest, WithTheSlowestOfFewLayersAreNotReported) {
  begin("lenses: [step_time]\n");
  for (int i = 0; i < 4; ++i) epoch();
  EXPECT_TRUE(rules().empty());
}

/// Expects what the documentation "Trace Event Format" of Chrome asks of every event.
void expect_is_trace(const nlohmann::json& trace) {
  ASSERT_TRUE(trace.at("traceEvents").is_array());
  std::map<int, std::vector<std::pair<double, double>>> open;  // key: the track
  for (const auto& event : trace.at("traceEvents")) {
    const std::string phase = event.at("ph");
    EXPECT_TRUE(event.at("name").is_string()) << event;
    EXPECT_TRUE(event.at("pid").is_number_integer() && event.at("tid").is_number_integer()) << event;
    if (phase == "M") {
      EXPECT_TRUE(event.at("args").is_object()) << event;
      continue;
    }
    EXPECT_TRUE(event.at("cat").is_string()) << event;
    EXPECT_GE(event.at("ts").get<double>(), 0) << event;
    if (phase == "i") {
      EXPECT_EQ(event.at("s"), "p") << event;
      continue;
    }
    ASSERT_EQ(phase, "X") << event;
    // On a track, each event lies within an open one or after it.
    const double begin = event.at("ts"), end = begin + event.at("dur").get<double>();
    EXPECT_GE(end, begin) << event;
    constexpr double rounding = 1e-3;
    auto& stack = open[event.at("tid")];
    while (!stack.empty() && begin >= stack.back().second - rounding) stack.pop_back();
    EXPECT_TRUE(stack.empty() || (begin >= stack.back().first - rounding && end <= stack.back().second + rounding))
        << event;
    stack.emplace_back(begin, end);
  }
}

TEST_F(TimedStepsTest, AreTracedAsChromeReadsThem) {
  const Folder folder;
  begin("run: {dir: " + folder.path() + "}\ntrace: {steps: 3, after: 5}\nlenses: [probe_lens]\n");
  for (const char* name : {"net.block.a", "net.block.b"}) modules.push_back(it->add(name));
  for (int i = 0; i < 20; ++i) {
    step({.loupe = 1}, [&] {
      run(0, 1, true, modules.size() + 1);
      if (i != 7) return;
      loupe_finding finding{.struct_size = sizeof finding,
                            .severity = LOUPE_SEVERITY_WARNING,
                            .rule = "made_up",
                            .message = "a finding of this test's"};
      it->monitor.publish(finding, "the test");
    });
  }
  const std::vector<std::string> messages = it->stage.take_messages();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_SAYS(messages[0], "3 steps are traced in '" + folder.path("trace.json") + "'");
  const auto trace = nlohmann::json::parse(std::ifstream(folder.path("trace.json")));
  expect_is_trace(trace);
  std::map<std::string, int> count;
  for (const auto& event : trace.at("traceEvents"))
    ++count[event.value("cat", "") + " " + event.at("name").get<std::string>()];
  EXPECT_EQ(count["step step 6"] + count["step step 7"] + count["step step 8"], 3);
  EXPECT_EQ(count["forward fc0"], 6);
  EXPECT_EQ(count["forward fc1"], 3);
  EXPECT_EQ(count["backward fc0"], 3);
  for (const char* container : {"net", "net.block", "net.block.a", "net.block.b"}) {
    EXPECT_EQ(count[std::string("forward ") + container], 3) << container;
    EXPECT_EQ(count[std::string("backward ") + container], 3) << container;
  }
  EXPECT_EQ(count["node AddmmBackward0"], 12);
  EXPECT_EQ(count["optimizer optimizer step"], 3);
  EXPECT_EQ(count["loupe Loupe"], 3);
  EXPECT_EQ(count["finding made_up"], 1);
}

TEST_F(TimedStepsTest, AreTracedAsFarAsTheRunGoes) {
  const Folder folder;
  for (const auto& [steps, told] : {std::pair(8, "4 steps are traced"),
                                    {4, "2 steps are traced"},
                                    {2, "no step is traced, because the run ended before 3 steps"}}) {
    begin("run: {dir: " + folder.path() + "}\ntrace: {steps: 5, after: 4}\nlenses: [probe_lens]\n");
    for (int i = 0; i < steps; ++i) step();
    it->monitor.end(LOUPE_END_COMPLETED, nullptr);
    EXPECT_SAYS(it->stage.take_messages().back(), told);
  }
}

TEST_F(TimedStepsTest, AreTracedEvenIfAnEpochEndsInEach) {
  const Folder folder;
  begin("run: {dir: " + folder.path() + "}\ntrace: {steps: 3, after: 5}\nlenses: [probe_lens]\n");
  for (int i = 0; i < 12; ++i) step({}, [&] { it->monitor.tick(std::nullopt); });
  EXPECT_SAYS(it->stage.take_messages().back(), "3 steps are traced");
}

}  // namespace
}  // namespace loupe
