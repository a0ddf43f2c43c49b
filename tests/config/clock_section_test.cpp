#include <gtest/gtest.h>

#include <limits>

#include "config/config.h"
#include "faults.h"

namespace loupe {
namespace {

Config config_of(const std::string& text) {
  return Config::from_text(text, "a.yaml", "/");
}

TEST(TickRule, CountsStepsOrSecondsOrLeavesItToTheTrainer) {
  EXPECT_EQ(config_of("{}").tick.by, TickRule::By::epoch);
  EXPECT_EQ(config_of("run: {tick: epoch}").tick.by, TickRule::By::epoch);
  const TickRule steps = config_of("run: {name: x, tick: {steps: 500, of: generator}}").tick;
  EXPECT_EQ(steps.by, TickRule::By::steps);
  EXPECT_EQ(steps.steps, 500U);
  EXPECT_EQ(steps.of, "generator");
  EXPECT_EQ(steps.words(), "500 steps");
  const TickRule seconds = config_of("run: {tick: {seconds: 1.5}}").tick;
  EXPECT_EQ(seconds.by, TickRule::By::seconds);
  EXPECT_EQ(seconds.words(), "1.5 seconds");
  EXPECT_EQ(config_of("run: {name: x, tick: epoch}").run_name, "x") << "the rest of the section is still read";
}

TEST(TickRule, FaultsHaveTheirPlaceAndRemedy) {
  EXPECT_EQ(faults_of("run: {tick: often}\n"),
            "a.yaml:1:13: error: run.tick is epoch, {steps: n} or {seconds: s}, not 'often'");
  EXPECT_SAYS(faults_of("run: {tick: [1]}\n"), "run.tick is epoch, {steps: n} or {seconds: s}, not a list");
  EXPECT_SAYS(faults_of("run: {tick: {step: 5}}\n"), "unknown key 'step' in run.tick; did you mean 'steps'?");
  EXPECT_SAYS(faults_of("run: {tick: {steps: 5, seconds: 5}}\n"), "counts either steps or seconds");
  EXPECT_SAYS(faults_of("run: {tick: {}}\n"), "counts either steps or seconds");
  for (const char* wrong : {"0", "-1", "2.5", "many", "''", "[1]"}) {
    EXPECT_SAYS(faults_of(std::string("run: {tick: {steps: ") + wrong + "}}\n"),
                "run.tick.steps must be a whole number from 1 on");
  }
  for (const char* wrong : {"0", "-1", "soon", "nan", "1e300"}) {
    EXPECT_SAYS(faults_of(std::string("run: {tick: {seconds: ") + wrong + "}}\n"),
                "run.tick.seconds must be a number of seconds above 0");
  }
  EXPECT_SAYS(faults_of("run: {tick: {seconds: 5, of: x}}\n"), "run.tick.of names the model");
  EXPECT_SAYS(faults_of("run: {tick: {steps: 5, of: ''}}\n"), "run.tick.of names the model");
}

TEST(AttachBudget, IsAShareInPercent) {
  EXPECT_EQ(config_of("{}").budget, 0);
  EXPECT_EQ(config_of("attach: {budget: none}").budget, 0);
  EXPECT_DOUBLE_EQ(config_of("attach: {budget: 1%}").budget, 0.01);
  EXPECT_DOUBLE_EQ(config_of("attach: {budget: 0.5 %}").budget, 0.005);
  for (const char* wrong : {"1", "0.01", "0%", "-1%", "101%", "much", "'%'"}) {
    EXPECT_SAYS(faults_of(std::string("attach: {budget: ") + wrong + "}\n"),
                "attach.budget is a share of the time such as 1%");
  }
}

TEST(AttachHistory, IsOfEnoughElementsOrOfAllWhereAskedFor) {
  EXPECT_EQ(config_of("{}").history, 65536);
  EXPECT_EQ(config_of("attach: {history: 0}").history, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(config_of("attach: {history: 4096}").history, 4096);
  EXPECT_EQ(faults_of("attach: {history: 64}\n"),
            "a.yaml:1:19: error: attach.history is 0, for all elements, or at least 4096: what is estimated from fewer "
            "says too little");
  EXPECT_SAYS(faults_of("attach: {history: -1}\n"), "attach.history must be between 0 and");
  EXPECT_SAYS(faults_of("attach: {history: all}\n"), "attach.history");
}

TEST(AttachEvery, IsAWholeNumberFromOneOn) {
  EXPECT_EQ(config_of("{}").every, 1);
  EXPECT_EQ(config_of("attach: {every: 20}").every, 20);
  EXPECT_SAYS(faults_of("attach: {every: 0}\n"), "attach.every must be between 1 and");
}

}  // namespace
}  // namespace loupe
