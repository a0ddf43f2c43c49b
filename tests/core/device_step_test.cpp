// A timed step whose work is on a device: its times are those at which the device's queue got there.

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "monitored.h"
#include "timing/step_timer.h"

namespace loupe {
namespace {

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

  /// The host asks for all of it within a millisecond.
  static void device(double milliseconds) { queue.time += 1e-3 * milliseconds; }
  void forward(const std::shared_ptr<ModuleNode>& module, int64_t made, double milliseconds) {
    StepTimer::here()->enter_module(module.get(), true, made, [&] { return StepTimer::Nodes{module}; });
    device(milliseconds);
    StepTimer::here()->leave_module(made + 1);
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
  EXPECT_NEAR(milliseconds(*step, StepPart::other), 7, 1e-9) << "no node is on that thread";
  double all = 0;
  for (const double part : step->parts) all += part;
  EXPECT_NEAR(1e3 * step->seconds, 28, 1e-9);
  EXPECT_NEAR(all, step->seconds, 1e-12);
}

TEST_F(DeviceStep, HasEachLayersTimesAlsoOfNodesOnAutogradsThread) {
  train();
  const auto step = timer.take(this);
  ASSERT_TRUE(step);
  ASSERT_EQ(step->layers.size(), 2U);
  EXPECT_NEAR(1e3 * step->layers[0].time.forward, 2, 1e-9);
  EXPECT_NEAR(1e3 * step->layers[0].time.backward, 4, 1e-9);
  EXPECT_NEAR(1e3 * step->layers[1].time.backward, 6, 1e-9);
}

TEST_F(DeviceStep, IsTracedByTheTimesOfTheQueue) {
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

TEST_F(DeviceStep, IsNotLostAtATickThatComesBeforeTheDeviceHasGotThere) {
  queue.state = DeviceClock::State::pending;
  train();
  timer.drop(this);
  queue.state = DeviceClock::State::reached;
  EXPECT_TRUE(timer.take(this));
}

TEST_F(DeviceStep, CountsOfNodesOnTwoThreadsAtOnceThoseThatCameFirst) {
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

TEST_F(DeviceStep, KeepsTheHostsTimesWhereTheDeviceCannotTell) {
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

}  // namespace
}  // namespace loupe
