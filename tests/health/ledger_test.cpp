// What becomes of what rules see.

#include <gtest/gtest.h>

#include <string>

#include "health/told.h"

namespace loupe::health {
namespace {

struct TwoModels {
  loupe_module module(const char* name, const char* model) {
    loupe_module made{};
    made.struct_size = sizeof made;
    made.name = name;
    made.model = model;
    return made;
  }
  loupe_module net = module("net", "net"), layer = module("net.fc", "net"), other = module("other", "other");
  loupe::testing::Told told;

  void see(const char* rule, const loupe_module& where, uint32_t severity = LOUPE_SEVERITY_ERROR) {
    Observation seen;
    seen.severity = severity;
    seen.module = &where;
    seen.message = rule;
    seen.advice = "mend it";
    told.judge(rule).see(seen);
  }
};

TEST(Ledger, TellsWhatFollowsFromACauseAsInformationThatPointsToIt) {
  TwoModels models;
  models.see("nothing_trainable", models.net);
  models.see("dead_units", models.layer);
  models.see("dead_units", models.other);
  const auto& found = models.told.findings;
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].severity, uint32_t{LOUPE_SEVERITY_ERROR});
  EXPECT_EQ(found[1].severity, uint32_t{LOUPE_SEVERITY_INFO});
  EXPECT_EQ(found[1].advice, "see 'nothing_trainable' first, from which this may follow");
  EXPECT_EQ(found[2].severity, uint32_t{LOUPE_SEVERITY_ERROR}) << "it is of another model";
  EXPECT_EQ(found[2].advice, "mend it");
}

TEST(Ledger, TakesASymptomForTheCauseOfWhatFollowsAndNothingForThatOfWhatIsWorse) {
  TwoModels models;
  models.see("vanishing_gradient", models.layer, LOUPE_SEVERITY_WARNING);
  models.see("update_ratio", models.layer, LOUPE_SEVERITY_WARNING);
  EXPECT_EQ(models.told.findings.back().severity, uint32_t{LOUPE_SEVERITY_INFO});
  models.see("dead_units", models.layer, LOUPE_SEVERITY_WARNING);
  EXPECT_EQ(models.told.findings.back().severity, uint32_t{LOUPE_SEVERITY_WARNING}) << "one symptom beside another";
  models.see("diverging_loss", models.layer, LOUPE_SEVERITY_ERROR);
  EXPECT_EQ(models.told.findings.back().severity, uint32_t{LOUPE_SEVERITY_ERROR});
}

TEST(Ledger, TakesAnotherRulesEqualForTheCauseOnlyWhereTheRuleSaysSo) {
  TwoModels models;
  const auto see_zeros = [&](const char* parameter) {
    Observation zeros;
    zeros.may_follow_equals = true;
    zeros.module = &models.net;
    zeros.parameter = parameter;
    models.told.judge("unchanged_parameter").tell(zeros);
    return models.told.findings.back().severity;
  };
  EXPECT_EQ(see_zeros("weight"), uint32_t{LOUPE_SEVERITY_WARNING});
  EXPECT_EQ(see_zeros("bias"), uint32_t{LOUPE_SEVERITY_WARNING}) << "a rule does not explain itself";
  models.see("dead_units", models.layer);
  EXPECT_EQ(models.told.findings.back().severity, uint32_t{LOUPE_SEVERITY_ERROR});
  EXPECT_EQ(see_zeros("weight"), uint32_t{LOUPE_SEVERITY_INFO});
}

TEST(Ledger, TellsAgainWhatIsExplainedByACauseThatComesLater) {
  TwoModels models;
  models.see("dead_units", models.layer);
  models.see("nothing_trainable", models.net);
  models.see("dead_units", models.layer);
  models.see("dead_units", models.layer);
  const auto& found = models.told.findings;
  ASSERT_GE(found.size(), 3u);
  EXPECT_EQ(found[2].rule, "dead_units");
  EXPECT_EQ(found[2].state, uint32_t{LOUPE_FINDING_CHANGED});
  EXPECT_EQ(found[2].severity, uint32_t{LOUPE_SEVERITY_INFO});
}

TEST(Ledger, TakesNeitherInformationNorACauseThatIsOverForAnExplanation) {
  TwoModels models;
  models.see("loss_input", models.net, LOUPE_SEVERITY_INFO);
  models.see("dead_units", models.layer);
  EXPECT_EQ(models.told.findings.back().severity, uint32_t{LOUPE_SEVERITY_ERROR});
  TwoModels after;
  after.see("nothing_trainable", after.net);
  Ended ended;
  ended.window = [](const loupe_module*) { return true; };
  ended.is_open = [](const Finding&) { return false; };
  for (int i = 0; i < 2; ++i) after.told.ledger.end(after.told.report, ended);
  after.see("dead_units", after.layer);
  EXPECT_EQ(after.told.findings.back().severity, uint32_t{LOUPE_SEVERITY_ERROR});
}

}  // namespace
}  // namespace loupe::health
