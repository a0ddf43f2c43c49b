#include <gtest/gtest.h>

#include <cmath>
#include <deque>

#include "lens_world.h"

namespace loupe::test {
namespace {

/// An optimizer as a lens is told of it.
class FakeOptimizer {
 public:
  FakeOptimizer(uint64_t id, const char* type, std::vector<double> rates, const char* model = "") {
    value_.name = std::string(type) == "Adam" ? "beta1" : "momentum";
    for (const double rate : rates) {
      groups_.push_back({.struct_size = sizeof(loupe_parameter_group),
                         .flags = std::isnan(rate) ? 0U : uint32_t{LOUPE_GROUP_HAS_LEARNING_RATE},
                         .learning_rate = std::isnan(rate) ? 0 : rate,
                         .tensor_count = 1,
                         .element_count = 4,
                         .settings = &settings_});
    }
    for (const auto& group : groups_) pointers_.push_back(&group);
    optimizer_ = {sizeof(loupe_optimizer), 0, id, model, type, pointers_.data(), pointers_.size()};
  }
  FakeOptimizer(const FakeOptimizer&) = delete;
  FakeOptimizer& operator=(const FakeOptimizer&) = delete;
  void set(std::size_t group, double rate) { groups_[group].learning_rate = rate; }
  const loupe_optimizer* get() const { return &optimizer_; }

 private:
  // Named by LibTorch: Adam's momentum is its first beta.
  loupe_option_value value_{.struct_size = sizeof(loupe_option_value), .type = LOUPE_TYPE_NUMBER, .number = 0.9};
  const loupe_option_value* values_ = &value_;
  const loupe_options settings_{sizeof(loupe_options), 0, &values_, 1};
  std::deque<loupe_parameter_group> groups_;
  std::vector<const loupe_parameter_group*> pointers_;
  loupe_optimizer optimizer_{};
};

std::optional<double> rate(const Shown& shown, const std::string& line) {
  return shown.value("Learning Rate", "Learning Rate", line);
}

TEST(LearningRateLens, ShowsTheRateThatTheLastStepWasTakenWith) {
  LensWorld world("learning_rate");
  FakeOptimizer adam(1, "Adam", {0.1});
  world.set_optimizers({adam.get()});
  world.step();
  adam.set(0, 0.05);  // a schedule's, for the next epoch
  const Shown shown = world.tick();
  EXPECT_EQ(rate(shown, "Adam"), 0.1);
  EXPECT_TRUE(shown.ranges.empty());
  EXPECT_FALSE(shown.tags.count("Momentum"));
  world.step();
  EXPECT_EQ(rate(world.tick(), "Adam"), 0.05);
}

TEST(LearningRateLens, ShowsABandWhereItChangedWithinTheEpochAndForgetsItAfterwards) {
  LensWorld world("learning_rate");
  FakeOptimizer sgd(1, "SGD", {0.1});
  world.set_optimizers({sgd.get()});
  for (const double now : {0.1, 0.4, 0.2}) {
    sgd.set(0, now);
    world.step();
  }
  const Shown shown = world.tick();
  EXPECT_EQ(rate(shown, "SGD"), 0.2);
  EXPECT_EQ(shown.range("Learning Rate", "Learning Rate", "SGD min|SGD max"), std::pair(0.1, 0.4));
  world.step();
  EXPECT_TRUE(world.tick().ranges.empty());
}

TEST(LearningRateLens, ShowsWhatIsSetInAnEpochWithoutSteps) {
  LensWorld world("learning_rate");
  FakeOptimizer sgd(1, "SGD", {0.1});
  world.set_optimizers({sgd.get()});
  world.step();
  world.tick();
  sgd.set(0, 0.3);
  EXPECT_EQ(rate(world.tick(), "SGD"), 0.3);
}

TEST(LearningRateLens, NamesGroupsAndOptimizersApart) {
  LensWorld world("learning_rate");
  FakeOptimizer groups(1, "SGD", {0.1, 0.2}), first(2, "Adam", {0.3}), second(3, "Adam", {0.4}),
      other(4, "Adam", {0.5}, "critic");
  world.set_optimizers({groups.get(), first.get(), second.get(), other.get()});
  const Shown shown = world.tick();
  EXPECT_EQ(rate(shown, "SGD group 0"), 0.1);
  EXPECT_EQ(rate(shown, "SGD group 1"), 0.2);
  EXPECT_EQ(rate(shown, "Adam"), 0.3);
  EXPECT_EQ(rate(shown, "Adam 2"), 0.4);
  EXPECT_EQ(rate(shown, "critic Adam"), 0.5);
}

TEST(LearningRateLens, ShowsMomentumWhenToldToAndNothingThatAnOptimizerDoesNotSay) {
  LensWorld world("learning_rate", "{momentum: true, log_scale: true}");
  FakeOptimizer own(1, "Own", {NAN});
  world.set_optimizers({own.get()});
  const Shown shown = world.tick();
  const Shown::Tag& tag = shown.tags.at("Learning Rate");
  EXPECT_TRUE(tag.big);
  EXPECT_TRUE(tag.log_y);
  EXPECT_EQ(shown.tags.count("Momentum"), 1U);
  EXPECT_FALSE(rate(shown, "Own"));
  EXPECT_EQ(shown.value("Momentum", "Momentum", "Own"), 0.9);
}

TEST(LearningRateLens, TakesTheFirstBetaOfAdamForItsMomentum) {
  LensWorld world("learning_rate", "{momentum: true}");
  FakeOptimizer adam(1, "Adam", {0.1});
  world.set_optimizers({adam.get()});
  world.step();
  EXPECT_EQ(world.tick().value("Momentum", "Momentum", "Adam"), 0.9);
}

TEST(LearningRateLens, SaysNothingWithoutAnOptimizer) {
  LensWorld world("learning_rate");
  world.step();
  EXPECT_TRUE(world.tick().values.empty());
}

}  // namespace
}  // namespace loupe::test
