// The learning rate's curve comes along with the losses.

#include <gtest/gtest.h>

#include "monitored.h"
#include "pipeline/optimizer_facts.h"

namespace loupe {
namespace {

/// What a tick with an optimizer shows of its rate.
std::optional<double> shown_rate(const std::string& lenses) {
  Monitored it("lenses: " + lenses + "\n");
  OptimizerFacts facts(1, "", "SGD");
  facts.set_groups({{sizeof(loupe_parameter_group), 0, 0.25, 0.9, 0, 1, 4, 0, 0}});
  it.monitor.set_optimizers([&] { return std::vector<const loupe_optimizer*>{&facts.get()}; });
  it.monitor.note_step(&facts.get());
  it.monitor.tick(std::nullopt);
  EXPECT_EQ(it.stage.take_messages(), std::vector<std::string>());
  return it.shown("Learning Rate", "SGD", "Learning Rate");
}

TEST(LearningRate, IsShownWithTheLossesUnlessTurnedOff) {
  EXPECT_EQ(shown_rate("[loss_metrics]"), 0.25);
  EXPECT_EQ(shown_rate("[loss_metrics: {learning_rate: false}]"), std::nullopt);
  EXPECT_EQ(shown_rate("[probe_lens]"), std::nullopt);
}

TEST(LearningRate, IsShownOnceWhereItsLensIsNamedToo) {
  const Monitored it("lenses: [loss_metrics, learning_rate: {momentum: true}]\n");
  EXPECT_EQ(it.monitor.lenses().size(), 2u);
}

}  // namespace
}  // namespace loupe
