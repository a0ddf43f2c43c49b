// Which listener is notified of Loupe's own work while a step is timed.

#include "core/work.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace loupe {
namespace {

class Counting final : public WorkListener {
 public:
  explicit Counting(bool has_share = true) : has_share_(has_share) {}
  bool is_here() const override { return has_share_; }
  bool enter_loupe() override {
    entered.fetch_add(1);
    return has_share_;
  }
  void leave_loupe() override { left.fetch_add(1); }
  void enter_optimizer() override {}
  void leave_optimizer() override {}
  bool enter_forward(const void*, bool, int64_t, const std::function<Nodes()>&) override { return has_share_; }
  void leave_forward(int64_t) override {}

  std::atomic<long> entered{0}, left{0};

 private:
  const bool has_share_;
};

/// Removes the listener when destroyed.
struct Heard {
  explicit Heard(WorkListener& listener) { WorkListener::set(&listener); }
  ~Heard() { WorkListener::set(nullptr); }
};

TEST(LoupeTime, IsReportedOnceAtItsBeginningAndOnceAtItsEnd) {
  Counting listener;
  const Heard heard(listener);
  {
    const LoupeTime time;
    EXPECT_EQ(listener.entered, 1);
    EXPECT_EQ(listener.left, 0);
  }
  EXPECT_EQ(listener.entered, 1);
  EXPECT_EQ(listener.left, 1);
}

TEST(LoupeTime, HasNoEndForAListenerThatIgnoresTheThread) {
  Counting listener(/*has_share=*/false);
  const Heard heard(listener);
  { const LoupeTime time; }
  EXPECT_EQ(listener.entered, 1);
  EXPECT_EQ(listener.left, 0);
  EXPECT_EQ(WorkListener::here(), nullptr);
}

TEST(LoupeTime, EndsForTheListenerThatReceivedItsBeginning) {
  Counting first, second;
  {
    const Heard heard(first);
    const LoupeTime time;
    WorkListener::set(&second);
  }
  EXPECT_EQ(first.left, 1);
  EXPECT_EQ(second.left, 0);
}

TEST(LoupeTime, IsBalancedWhileFourThreadsWorkAndTheListenerChanges) {
  Counting listener;
  std::atomic<bool> ends{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!ends) {
        { const LoupeTime time; }
        std::this_thread::yield();
      }
    });
  }
  for (int round = 0; round < 20; ++round) {
    const long before = listener.entered;
    WorkListener::set(&listener);
    while (listener.entered == before) std::this_thread::yield();
    WorkListener::set(nullptr);
  }
  ends = true;
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(listener.entered, listener.left);
}

}  // namespace
}  // namespace loupe
