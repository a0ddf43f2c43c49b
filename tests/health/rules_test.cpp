// The table of rules.

#include "health/rules/rule.h"

#include <gtest/gtest.h>
#include <loupe/detail/option_table.h>
#include <loupe/error.h>
#include <loupe/text/words.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

namespace loupe::health {
namespace {

/// All sources of a folder of tests, one behind the other.
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
        << "the help of '" << rule.name << "' must begin with its severity, as its row has it, and '; ': " << help;
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
        << "no test names the rule " << name << ": plant its fault in tests/zoo, beside a healthy twin";
    const bool is_of_host = name == "\"departs_from_baseline\"";
    EXPECT_TRUE(is_in_zoo || is_of_host || rule.severity < LOUPE_SEVERITY_WARNING)
        << "the rule " << name << " warns, and tests/zoo has no trainer with its fault and no healthy twin";
  }
}

TEST(RulesOfHealth, HaveEachAnExampleForExplain) {
  for (const Rule& rule : rules()) {
    for (const char* code : {rule.fault, rule.repair}) {
      EXPECT_NE(std::string(code), "") << "the rule '" << rule.name
                                       << "' lacks an example: give its row in plugins/health/rules a fault, a few "
                                          "lines of a trainer, and its repair";
      std::istringstream lines(code);
      for (std::string line; std::getline(lines, line);)
        EXPECT_LE(line.size(), 74u) << "a line of the example of '" << rule.name
                                    << "' is too long for a terminal of 80 columns: " << line;
    }
    EXPECT_STRNE(rule.fault, rule.repair) << "the example of '" << rule.name << "' repairs nothing";
  }
}

TEST(RulesOfHealth, BringAboutOtherRulesThatThereAre) {
  for (const Rule& rule : rules()) {
    for (const Effects& each : rule.brings_about) {
      for (const char* effect : each.effects) {
        EXPECT_NO_THROW(rule_named(effect)) << "'" << rule.name << "' brings about '" << effect << "'";
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
