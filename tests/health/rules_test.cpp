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

std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
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
  std::string cases;
  for (const char* folder : {"zoo", "testing", "torch", "core", "health"}) {
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(LOUPE_TESTS) / folder)) {
      if (entry.path().extension() == ".cpp") cases += text_of(entry.path());
    }
  }
  for (const Rule& rule : rules()) {
    EXPECT_NE(cases.find('"' + std::string(rule.name)), std::string::npos)
        << "no test names the rule '" << rule.name << "': plant its fault in tests/zoo, beside a healthy twin";
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
