// How the ledger turns the observations of rules into findings.

#include <gtest/gtest.h>

#include <string>

#include "health/judged.h"

namespace loupe::health {
namespace {

struct TwoModels {
  static loupe_module module(const char* name, const loupe_model& model) {
    loupe_module made{};
    made.struct_size = sizeof made;
    made.name = name;
    made.model = &model;
    return made;
  }
  loupe_model first{.struct_size = sizeof(loupe_model)}, second = first;
  loupe_module net = module("net", first), layer = module("net.fc", first), other = module("other", second);
  loupe::testing::JudgedFindings judged;

  void see(const char* rule, const loupe_module& where, uint32_t severity = LOUPE_SEVERITY_ERROR) {
    judged.judge(rule).see({.severity = severity, .module = &where, .message = rule, .advice = "mend it"});
  }
  void end_two_windows() {
    const StretchEnd ended{.window = [](const loupe_module*) { return true; },
                           .is_open = [](const Finding&) { return false; }};
    for (int i = 0; i < 2; ++i) judged.ledger.end(judged.report, ended);
  }
};

TEST(Ledger, ReportsConsequencesAsInfosThatNameTheCause) {
  TwoModels models;
  models.see("nothing_trainable", models.net);
  models.see("dead_units", models.layer);
  models.see("dead_units", models.other);
  const auto& found = models.judged.findings;
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].severity, uint32_t{LOUPE_SEVERITY_ERROR});
  EXPECT_EQ(found[1].severity, uint32_t{LOUPE_SEVERITY_INFO});
  EXPECT_EQ(found[1].advice, "fix 'nothing_trainable' first, which may be the cause");
  EXPECT_EQ(found[1].caused_by, "nothing_trainable");
  EXPECT_EQ(found[2].severity, uint32_t{LOUPE_SEVERITY_ERROR}) << "it belongs to another model";
  EXPECT_EQ(found[2].advice, "mend it");
  EXPECT_EQ(found[2].caused_by, "");
}

TEST(Ledger, AcceptsASymptomAsACauseButNotOfWorseFindings) {
  TwoModels models;
  models.see("vanishing_gradient", models.layer, LOUPE_SEVERITY_WARNING);
  models.see("update_ratio", models.layer, LOUPE_SEVERITY_WARNING);
  EXPECT_EQ(models.judged.findings.back().severity, uint32_t{LOUPE_SEVERITY_INFO});
  models.see("dead_units", models.layer, LOUPE_SEVERITY_WARNING);
  EXPECT_EQ(models.judged.findings.back().severity, uint32_t{LOUPE_SEVERITY_WARNING})
      << "one symptom does not explain another";
  models.see("diverging_loss", models.layer, LOUPE_SEVERITY_ERROR);
  EXPECT_EQ(models.judged.findings.back().severity, uint32_t{LOUPE_SEVERITY_ERROR});
}

TEST(Ledger, ExplainsStepsWithoutEffectByARateThatFell) {
  TwoModels models;
  models.see("no_effect", models.net, LOUPE_SEVERITY_ERROR);
  models.see("learning_rate_change", models.net, LOUPE_SEVERITY_WARNING);
  EXPECT_EQ(models.judged.findings.back().rule, "no_effect");
  EXPECT_EQ(models.judged.findings.back().caused_by, "learning_rate_change");
}

TEST(Ledger, AcceptsNoLaterFindingAsACause) {
  TwoModels models;
  const StretchEnd tick{.tick = true,
                        .window = [](const loupe_module*) { return false; },
                        .is_open = [](const Finding&) { return true; }};
  models.see("loss_not_decreasing", models.net, LOUPE_SEVERITY_WARNING);
  models.judged.ledger.end(models.judged.report, tick);
  models.see("non_finite", models.net);
  EXPECT_EQ(models.judged.findings.back().rule, "non_finite");
  models.see("dead_units", models.layer);
  EXPECT_EQ(models.judged.findings.back().caused_by, "non_finite") << "both appeared together";
  models.see("nothing_trainable", models.net);
  EXPECT_EQ(models.judged.findings.back().rule, "loss_not_decreasing") << "it may have been so since the first step";
  EXPECT_EQ(models.judged.findings.back().caused_by, "nothing_trainable");
}

TEST(Ledger, ReportsAgainImmediatelyForAReattachedModule) {
  TwoModels models;
  for (int i = 0; i < 4; ++i) models.judged.judge("non_finite").tell({.module = &models.layer});
  const std::size_t before = models.judged.findings.size();
  models.judged.judge("non_finite").tell({.module = &models.layer});
  EXPECT_EQ(models.judged.findings.size(), before) << "it was reported already";
  models.judged.ledger.forget(&models.layer);
  const loupe_module again = models.layer;
  models.judged.judge("non_finite").tell({.module = &again});
  EXPECT_EQ(models.judged.findings.size(), before + 1);
}

/// A gradient of 0 at one place, and a silent layer at place 4.
struct ZeroGradient {
  TwoModels models;

  uint32_t see_zero(uint64_t place) {
    models.judged.judge("unchanged_parameter")
        .tell({.module = &models.net, .parameter = "weight" + std::to_string(place), .value = 0, .place = place});
    return models.judged.findings.back().severity;
  }
  void see_dead(double share, uint32_t severity) {
    models.judged.judge("dead_units").tell({.severity = severity, .module = &models.layer, .value = share, .place = 4});
  }
};

TEST(Ledger, ExplainsAZeroGradientByAFullyDeadNeighbour) {
  ZeroGradient seen;
  EXPECT_EQ(seen.see_zero(3), uint32_t{LOUPE_SEVERITY_WARNING});
  EXPECT_EQ(seen.see_zero(2), uint32_t{LOUPE_SEVERITY_WARNING}) << "a rule does not explain itself";
  seen.see_dead(1, LOUPE_SEVERITY_INFO);
  EXPECT_EQ(seen.see_zero(1), uint32_t{LOUPE_SEVERITY_INFO});
  EXPECT_EQ(seen.models.judged.findings.back().advice, "fix 'dead_units' in 'net.fc' first, which may be the cause");
  EXPECT_EQ(seen.see_zero(5), uint32_t{LOUPE_SEVERITY_INFO}) << "the next layer gets only zeros";
  EXPECT_EQ(seen.see_zero(7), uint32_t{LOUPE_SEVERITY_WARNING}) << "it is far after the dead layer";
}

TEST(Ledger, DoesNotExplainAZeroGradientByAPartlyDeadLayer) {
  ZeroGradient seen;
  seen.see_dead(0.9, LOUPE_SEVERITY_ERROR);
  EXPECT_EQ(seen.see_zero(3), uint32_t{LOUPE_SEVERITY_WARNING});
}

TEST(Ledger, LowersAnEffectToAnInfoOnceItsCauseIsFound) {
  ZeroGradient seen;
  seen.see_zero(3);
  seen.see_dead(1, LOUPE_SEVERITY_ERROR);
  const Finding& last = seen.models.judged.findings.back();
  EXPECT_EQ(last.rule, "unchanged_parameter");
  EXPECT_EQ(last.caused_by, "dead_units");
  EXPECT_EQ(last.severity, uint32_t{LOUPE_SEVERITY_INFO});
}

TEST(Ledger, LowersTheSeverityOfRecedingFindingsOnly) {
  const auto after = [](bool may_recede) {
    TwoModels models;
    for (const uint32_t severity : {LOUPE_SEVERITY_ERROR, LOUPE_SEVERITY_INFO, LOUPE_SEVERITY_INFO}) {
      models.judged.judge("dead_units").tell({.severity = severity, .module = &models.layer, .may_recede = may_recede});
    }
    return models.judged.findings.back().severity;
  };
  EXPECT_EQ(after(true), uint32_t{LOUPE_SEVERITY_INFO});
  EXPECT_EQ(after(false), uint32_t{LOUPE_SEVERITY_ERROR});
}

TEST(Ledger, ReportsTheEndOfARecedingFindingAsAnInfo) {
  TwoModels models;
  models.judged.judge("dead_units")
      .tell({.severity = LOUPE_SEVERITY_ERROR, .module = &models.layer, .may_recede = true});
  models.end_two_windows();
  EXPECT_TRUE(models.judged.findings.back().is_over);
  EXPECT_EQ(models.judged.findings.back().severity, uint32_t{LOUPE_SEVERITY_INFO});
}

TEST(Ledger, KeepsAnErrorWhoseCauseIsOnlyAHint) {
  TwoModels models;
  models.see("poor_initialization", models.net, LOUPE_SEVERITY_WARNING);
  models.see("non_finite", models.layer);
  EXPECT_EQ(models.judged.findings.back().severity, uint32_t{LOUPE_SEVERITY_ERROR});
  EXPECT_EQ(models.judged.findings.back().advice,
            "fix 'poor_initialization' first, which may be the cause; else mend it");
}

TEST(Ledger, ReportsAgainWhenALaterCauseExplainsAFinding) {
  TwoModels models;
  models.see("dead_units", models.layer);
  models.see("nothing_trainable", models.net);
  models.see("dead_units", models.layer);
  models.see("dead_units", models.layer);
  const auto& found = models.judged.findings;
  ASSERT_GE(found.size(), 3u);
  EXPECT_EQ(found[2].rule, "dead_units");
  EXPECT_EQ(found[2].caused_by, "nothing_trainable");
  EXPECT_EQ(found[2].severity, uint32_t{LOUPE_SEVERITY_INFO});
}

TEST(Ledger, AcceptsNeitherInfosNorResolvedCausesAsExplanations) {
  TwoModels models;
  models.see("loss_input", models.net, LOUPE_SEVERITY_INFO);
  models.see("dead_units", models.layer);
  EXPECT_EQ(models.judged.findings.back().severity, uint32_t{LOUPE_SEVERITY_ERROR});
  TwoModels after;
  after.see("nothing_trainable", after.net);
  after.end_two_windows();
  after.see("dead_units", after.layer);
  EXPECT_EQ(after.judged.findings.back().severity, uint32_t{LOUPE_SEVERITY_ERROR});
}

}  // namespace
}  // namespace loupe::health
