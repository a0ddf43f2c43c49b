// The table of rules.

#include "health/rules/rule.h"

#include <gtest/gtest.h>
#include <loupe/detail/option_table.h>
#include <loupe/error.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
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
    const std::string help = rule.help;
    const bool says_severity =
        help.rfind("error", 0) == 0 || help.rfind("warning", 0) == 0 || help.rfind("info", 0) == 0;
    EXPECT_TRUE(says_severity && help.find("; ") != std::string::npos) << rule.name << ": " << help;
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
  for (const Rule& rule : rules()) EXPECT_NE(cases.find('"' + std::string(rule.name)), std::string::npos) << rule.name;
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
