// Tests of the table of rules.

#include "health/rules/rule.h"
#include "paths.h"

#include <gtest/gtest.h>
#include <loupe/detail/option_table.h>
#include <loupe/error.h>
#include <loupe/text/words.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "health/judged.h"

namespace loupe::health {
namespace {

/// All sources of a folder of tests, one after the other.
std::string sources_in(const char* folder) {
  std::string text;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(LOUPE_TESTS) / folder)) {
    std::ifstream stream(entry.path());
    if (entry.path().extension() == ".cpp") text.append(std::istreambuf_iterator<char>(stream), {});
  }
  return text;
}

TEST(RulesOfHealth, AreNamedOnceAndSayInOneLineHowBadItIs) {
  std::set<std::string> names;
  for (const Rule& rule : rules()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    EXPECT_EQ(&rule_named(rule.name), &rule);
    const std::string help = rule.help, severities = help.substr(0, help.find("; "));
    const bool begins_so = std::any_of(std::begin(severity_words), std::end(severity_words),
                                       [&](const auto& each) { return help.rfind(each.word, 0) == 0; });
    EXPECT_TRUE(begins_so && severities.size() < help.size() &&
                severities.find(word_of(severity_words, rule.severity)) != std::string::npos)
        << "the help of '" << rule.name << "' must begin with the severity in its row, and '; ': " << help;
    EXPECT_EQ(help.find('\n'), std::string::npos) << rule.name;
  }
  EXPECT_THROW(rule_named("no_such_rule"), Error);
}

TEST(RulesOfHealth, HaveEachACaseInTheZooOrATest) {
  const std::string zoo = sources_in("zoo");
  std::string tests;
  for (const char* folder : {"testing", "torch", "core", "health"}) tests += sources_in(folder);
  for (const Rule& rule : rules()) {
    const std::string name = '"' + std::string(rule.name) + '"';
    const bool is_in_zoo = zoo.find(name) != std::string::npos;
    EXPECT_TRUE(is_in_zoo || tests.find('"' + std::string(rule.name)) != std::string::npos)
        << "no test names the rule " << name << ": plant its fault in tests/zoo, and add a healthy twin";
    const bool is_of_host = name == "\"departs_from_baseline\"";
    EXPECT_TRUE(is_in_zoo || is_of_host || rule.severity < LOUPE_SEVERITY_WARNING)
        << "the rule " << name << " warns, but tests/zoo has no trainer with its fault or no healthy twin";
  }
}

TEST(RulesOfHealth, HaveAMeasuredValueAndAnAdvice) {
  for (const Rule& rule : rules()) {
    EXPECT_STRNE(rule.remedy, "") << rule.name;
    const bool is_measured = *rule.measure != '\0' || !rule.limits.empty();
    EXPECT_TRUE(is_measured) << "the rule '" << rule.name << "' has neither limits nor a measured value";
  }
}

/// Rules that judge a model of three layers whose gradients grow from 1e-6 in the first to 1 in the last.
struct ThreeLayers {
  ThreeLayers() {
    model.root = &module;
    for (int i = 0; i < 3; ++i) {
      ParameterState& weight = model.parameters.emplace_back();
      weight.parameter = &matrix;
      weight.module = &modules[i];
      weight.layer = "layer" + std::to_string(i);
      weight.name = "weight";
      weight.norm = 4;
      weight.gradient_norm_sum = std::pow(1e-3, 2 - i);
      weight.gradient_count = 1;
    }
  }
  /// Whether the rule reports something at this moment.
  bool is_told(const char* rule, When when) {
    const loupe_optimizer optimizer{.struct_size = sizeof optimizer, .model_name = "", .type = "SGD"};
    const Situation situation{.model = &model, .optimizer = &optimizer};
    for (const Rule::Look& look : rule_named(rule).looks) {
      if (look.when == when) look.judge(judged.judge(rule), situation);
    }
    return !judged.findings.empty();
  }

  const int64_t sizes[2] = {16, 16};
  loupe_parameter matrix{.struct_size = sizeof matrix,
                         .flags = LOUPE_PARAMETER_TRAINABLE,
                         .name = "weight",
                         .dim = 2,
                         .numel = 256,
                         .sizes = sizes};
  loupe_module module{.struct_size = sizeof module, .name = "", .path = "", .type = "", .full_type = ""};
  loupe_module modules[3] = {module, module, module};
  Model model{""};
  testing::JudgedFindings judged;
};

TEST(VanishingGradient, IsNotReportedWhileAWeightThatBeganWithZerosIsVerySmall) {
  EXPECT_TRUE(ThreeLayers().is_told("vanishing_gradient", When::window));
  ThreeLayers net;
  net.model.parameters.back().began_at_zero = true;
  net.model.parameters.back().norm = 0.05;
  EXPECT_FALSE(net.is_told("vanishing_gradient", When::window));
  net.model.parameters.back().norm = 1;
  EXPECT_TRUE(net.is_told("vanishing_gradient", When::window)) << "it has grown";
}

TEST(NothingTrainable, IsNotReportedIfFrozenParametersStepAgain) {
  ThreeLayers frozen, critic;
  frozen.matrix.flags = critic.matrix.flags = 0;
  critic.model.step.sums.counts.stepped = 3;
  EXPECT_FALSE(frozen.is_told("nothing_trainable", When::optimizer));
  EXPECT_TRUE(frozen.is_told("nothing_trainable", When::optimizer)) << "twice in a row";
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(critic.is_told("nothing_trainable", When::optimizer));
}

TEST(NothingTrainable, IsNotReportedForACriticFrozenWhileThePolicySteps) {
  ThreeLayers critic;
  critic.model.steps = 10;
  for (int i = 0; i < 40; ++i) {
    critic.matrix.flags = i % 2 == 0 ? 0 : LOUPE_PARAMETER_TRAINABLE;
    EXPECT_FALSE(critic.is_told("nothing_trainable", When::optimizer));
  }
  critic.matrix.flags = 0;
  for (int i = 0; i < 32; ++i) EXPECT_EQ(critic.is_told("nothing_trainable", When::optimizer), i == 31) << i;
}

/// The advice about a weight whose gradient stays 0, before a ReLU with this number of active units.
std::string advice_before_relu(int64_t alive_units) {
  ThreeLayers net;
  net.matrix.flags |= LOUPE_PARAMETER_OPTIMIZED;
  Layer& relu = net.model.layers.emplace_back(Module(&net.modules[1]));
  relu.name = "relu";
  relu.role = Role::rectifier;
  relu.looks = 2;
  relu.alive = {0, 0};
  relu.alive_units = alive_units;
  relu.first_run = 2;
  net.model.parameters.front().runs = &relu;
  net.model.parameters.front().told_of_zeros = true;
  return net.is_told("unchanged_parameter", When::window) ? net.judged.findings[0].advice : "";
}

TEST(UnchangedParameter, IsExplainedByASilentLayerAfterIt) {
  const std::string silent = advice_before_relu(0), active = advice_before_relu(1);
  EXPECT_EQ(silent.rfind("all units of 'relu' are silent: check that the biases", 0), 0U) << silent;
  EXPECT_EQ(active.rfind("check that the loss uses its output", 0), 0U) << active;
}

TEST(UnchangedParameter, IsNotReportedIfItsGradientIsResetBeforeEachStep) {
  for (const uint64_t seen : {0, 13}) {
    ThreeLayers net;
    for (ParameterState& each : net.model.parameters) each.steps = each.steps_with_gradient = 13;
    net.model.parameters.back().steps_with_gradient = 0;
    net.model.parameters.back().seen_gradients = seen;
    EXPECT_EQ(net.is_told("unchanged_parameter", When::tick), seen == 0);
  }
}

/// The message about a training loss with these means, one for each epoch.
std::string message_about(const char* rule, const std::vector<double>& means) {
  Losses losses;
  for (const double mean : means)
    losses.training.epochs.push_back({.mean = mean, .count = 20, .number = losses.training.epochs.size() + 1});
  testing::JudgedFindings judged;
  const Situation situation{.losses = &losses};
  rule_named(rule).looks.front().judge(judged.judge(rule), situation);
  return judged.findings.empty() ? "" : judged.findings.back().message;
}

TEST(MessagesAboutEpochs, NameThoseOfTheirNumbers) {
  EXPECT_EQ(message_about("unbounded_loss", {-1, -20, -200, -2000}),
            "the training loss fell below 0 and grows in size with each epoch: -1 in epoch 1, -200 in epoch 3, "
            "-2e+03 in epoch 4");
  EXPECT_EQ(message_about("loss_not_decreasing", {2.31, 2.31, 2.3, 2.3}),
            "the training loss has not fallen: 2.31 in epoch 1, 2.3 in epoch 4");
  ThreeLayers net;
  net.model.epoch.has_backward = true;
  for (ParameterState& each : net.model.parameters) each.gradients = 2;
  const Situation situation{.model = &net.model, .epoch = 7};
  rule_named("no_step").looks.front().judge(net.judged.judge("no_step"), situation);
  ASSERT_FALSE(net.judged.findings.empty());
  EXPECT_EQ(net.judged.findings[0].message,
            "gradients were computed in epoch 7, but no optimizer stepped and no parameter changed");
}

/// Judges the order of batches, epoch by epoch.
struct JudgedOrder {
  explicit JudgedOrder(bool has_gaps) { model.had_gaps = has_gaps; }
  void epoch(const std::vector<uint64_t>& batches) {
    for (const uint64_t each : batches)
      model.epoch.inputs.push_back({.is_known = true, .is_whole = true, .some = each});
    Judge judge = judged.judge("same_order");
    judge.when = When::tick;
    rule_named("same_order").looks.back().judge(judge, {.model = &model});
    model.next_epoch();
    judged.ledger.end(judged.report, {.tick = true,
                                      .window = [](const loupe_module*) { return true; },
                                      .is_open = [](const Finding&) { return false; }});
  }
  bool stands() const { return !judged.findings.empty() && !judged.findings.back().is_over; }

  Model model{"net"};
  testing::JudgedFindings judged;
};

TEST(SameOrder, LastsWhileTheMeasuredStepsDiffer) {
  JudgedOrder sampled(/*has_gaps=*/true), whole(/*has_gaps=*/false), never(/*has_gaps=*/true);
  for (JudgedOrder* each : {&sampled, &whole}) {
    for (int i = 0; i < 3; ++i) each->epoch({1, 2, 3, 4, 5});
    EXPECT_TRUE(each->stands());
    each->epoch({1, 3, 5, 7});
  }
  EXPECT_TRUE(sampled.stands());
  EXPECT_FALSE(whole.stands()) << "all steps were measured, so the order has changed";
  sampled.epoch({1, 2, 3, 4, 5});
  EXPECT_TRUE(sampled.stands());
  never.epoch({1, 2, 3, 4, 5});
  never.epoch({1, 2, 3, 4, 5});
  never.epoch({1, 3, 5, 7});
  never.epoch({1, 2, 3, 4, 5});
  EXPECT_TRUE(never.judged.findings.empty()) << "unknown in the third epoch";
}

TEST(RulesOfHealth, HaveAnExampleForExplain) {
  for (const Rule& rule : rules()) {
    const std::string fault = rule.lines_with('-'), repair = rule.lines_with('+');
    for (const std::string& code : {fault, repair}) {
      EXPECT_NE(code, "") << "the rule '" << rule.name
                          << "' lacks an example: give its row in plugins/health/rules a few lines of a trainer, with "
                             "'-' before those that have the fault and '+' before those that repair it";
      std::istringstream lines(code);
      for (std::string line; std::getline(lines, line);)
        EXPECT_LE(line.size(), 74u) << "a line of the example of '" << rule.name
                                    << "' is too long for a terminal of 80 columns: " << line;
    }
    EXPECT_NE(fault, repair) << "the example of '" << rule.name << "' repairs nothing";
  }
}

TEST(RulesOfHealth, NameOnlyExistingRulesAsEffects) {
  for (const Rule& rule : rules()) {
    for (const Effects& each : rule.brings_about) {
      for (const char* effect : each.effects) {
        EXPECT_NO_THROW(rule_named(effect)) << "'" << rule.name << "' causes '" << effect << "'";
        EXPECT_STRNE(effect, rule.name) << "a rule does not explain itself";
      }
    }
  }
}

TEST(RulesOfHealth, DeclareTheLimitsThatTheyJudgeBy) {
  std::vector<std::string> names;
  for (const Option& option : options()) names.push_back(option.name);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size()) << "an option is declared twice";
  const std::vector<Option> all = options();
  const Option& off = all.front();
  ASSERT_EQ(off.name, "off");
  EXPECT_EQ(off.choices.size(), rules().size());
}

}  // namespace
}  // namespace loupe::health
