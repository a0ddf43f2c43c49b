// The lens health where it is the one that is set apart: its rules judge the steps that it saw, and only those.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/clock.h"
#include "monitored.h"

namespace loupe {
namespace {

/// A trainer of one layer in which health takes half a second of each step that it looks at.
class HealthApart : public testing::Test {
 protected:
  HealthApart()
      : it("attach: {budget: 1%}\nlenses: [probe_lens, health: {off: [update_ratio, loss_oscillating]}]\n"),
        layer(it.add("fc")) {
    now = 1000;
    set_steady_clock([] { return now += 1e-7; });  // what is timed takes as long each time
    layer->set_parameter_flag(0, LOUPE_PARAMETER_OPTIMIZED, true);
    layer->set_parameter_flag(0, LOUPE_PARAMETER_GRADIENT, true);
    it.monitor.findings().set_listener([this](const loupe_finding& finding) {
      if (finding.state == LOUPE_FINDING_RAISED) found.push_back(finding.rule);
    });
    it.monitor.set_on_look([this] {
      if (it.monitor.looks()) stream(LOUPE_TAP_OPTIMIZER_STEP).prime(*FloatTensor(weight).get());
    });
  }
  ~HealthApart() override { set_steady_clock(nullptr); }

  const LensNode& health() const { return *it.monitor.lenses()[1]; }
  bool health_looks() const { return it.monitor.looks() && !health().skips(); }
  Stream& stream(uint32_t tap) { return *layer->stream(tap, tap == LOUPE_TAP_FORWARD ? "" : "weight"); }
  void tell(uint32_t tap, std::vector<float> values, uint32_t flags = training_pass) {
    if (it.monitor.looks()) stream(tap).dispatch(FloatTensor(std::move(values)).get(), flags);
  }
  float next() { return static_cast<float>(++drawn * 7919 % 1009) / 1009 - 0.5F; }
  std::vector<float> draw() { return {next(), next(), next(), next(), next(), next()}; }

  /// @param loss  what is pushed  @param step  what the optimizer takes of the gradient
  void step(double loss = 1, float step = 0.01F, uint32_t flags = training_pass) {
    now += 1 + (it.monitor.looks() ? 0.02 : 0) + (health_looks() ? 0.48 : 0);
    tell(LOUPE_TAP_FORWARD, draw());
    it.monitor.push("train_loss", loss, LOUPE_EVENT_LOSS | training_pass);
    const std::vector<float> gradient = draw();
    tell(LOUPE_TAP_PARAMETER_GRADIENT, gradient);
    for (std::size_t i = 0; i < weight.size(); ++i) weight[i] -= step * gradient[i];
    tell(LOUPE_TAP_OPTIMIZER_STEP, weight, flags);
    it.monitor.note_step();
    it.monitor.end_step();
  }
  /// Trains until health looks at one step in so many as it will.
  void settle() {
    for (int i = 0; i < 300; ++i) step();
    ASSERT_NE(it.monitor.sampling_words().find("with the lens 'health' at one in 100"), std::string::npos)
        << it.monitor.sampling_words();
  }

  static inline double now;
  Monitored it;
  std::shared_ptr<ModuleNode> layer;
  std::vector<float> weight = {0.5F, -0.3F, 0.2F, 0.8F, -0.6F, 0.1F};
  std::vector<std::string> found;
  int drawn = 0;
};

TEST_F(HealthApart, IsSilentWhileTrainingIsHealthy) {
  settle();
  for (int epoch = 0; epoch < 12; ++epoch) {
    for (int i = 0; i < 70; ++i) step(1.0 / (epoch + 1));  // health sees nothing at all of some epochs
    layer->set_parameter_flag(0, LOUPE_PARAMETER_CHANGED, true);
    it.monitor.tick(std::nullopt);
  }
  EXPECT_EQ(found, std::vector<std::string>{});
}

TEST_F(HealthApart, SaysThatStepsChangeNothingAtThoseItSees) {
  settle();
  for (int i = 0; i < 2 && health_looks(); ++i) step();
  int blind = 0;
  while (found.empty() && blind < 1000) {
    step(1, /*step=*/0);
    ++blind;
  }
  ASSERT_EQ(found, std::vector<std::string>{"no_effect"});
  EXPECT_GT(blind, 2);
  EXPECT_LE(blind, 200);
}

TEST_F(HealthApart, SaysThatGradientsAreNotClearedAtThoseItSees) {
  settle();
  for (int i = 0; i < 210; ++i) step(1, 0.01F, training_pass | LOUPE_EVENT_NOT_CLEARED);
  EXPECT_EQ(found, std::vector<std::string>{"gradients_not_cleared"});
}

TEST_F(HealthApart, FindsALossThatIsNotFiniteInAStepThatOnlyOthersLookAt) {
  settle();
  for (int i = 0; i < 20 && (!it.monitor.looks() || health_looks()); ++i) step();
  ASSERT_TRUE(it.monitor.looks() && !health_looks());
  step(NAN);
  for (int i = 0; i < 5; ++i) step();
  ASSERT_EQ(found, std::vector<std::string>{"non_finite"});
}

}  // namespace
}  // namespace loupe
