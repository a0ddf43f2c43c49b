#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "../holds.h"
#include "driver.h"
#include "paths.h"

namespace loupe::test {
namespace {

void find(Driver& alert, const std::string& rule, uint32_t severity) {
  Finding finding;
  finding.rule = rule;
  finding.severity = severity;
  finding.message = "a quote ' and $(touch stolen); \"both\"";
  finding.advice = "look";
  alert.finding(finding.c_form());
}
std::string messages_of(const Driver& alert) {
  std::string all;
  for (const std::string& each : alert.messages) all += each + "\n";
  return all;
}

std::string into(const Folder& folder, const std::string& more = "") {
  return more + "cat >> '" + folder.text() + "/told.json'";
}

TEST(Alert, PassesEachNewErrorToTheCommandAsALineOfJson) {
  const Folder folder;
  {
    Driver alert(ALERT_PLUGIN, {{"run", into(folder)}});
    alert.begin(folder.text());
    find(alert, "non_finite", LOUPE_SEVERITY_ERROR);
    find(alert, "dead_units", LOUPE_SEVERITY_WARNING);
    find(alert, "exploding_gradients", LOUPE_SEVERITY_ERROR);
    alert.end();
  }
  const auto lines = lines_of(read(folder / "told.json"));
  ASSERT_EQ(lines.size(), 2U);
  const auto first = nlohmann::json::parse(lines[0]);
  EXPECT_EQ(first.at("rule"), "non_finite");
  EXPECT_EQ(first.at("severity"), "error");
  EXPECT_EQ(first.at("message"), "a quote ' and $(touch stolen); \"both\"");
  EXPECT_EQ(nlohmann::json::parse(lines[1]).at("rule"), "exploding_gradients");
  EXPECT_FALSE(std::filesystem::exists("stolen"));
}

TEST(Alert, PassesWarningsOnByOption) {
  const Folder folder;
  {
    Driver alert(ALERT_PLUGIN, {{"run", into(folder)}, {"severity", "warning"}});
    alert.begin(folder.text());
    find(alert, "dead_units", LOUPE_SEVERITY_WARNING);
    find(alert, "note", LOUPE_SEVERITY_INFO);
    alert.end();
  }
  EXPECT_EQ(lines_of(read(folder / "told.json")).size(), 1U);
}

TEST(Alert, KillsACommandWithAllThatItStartedAfterItsTimeout) {
  const Folder folder;
  std::string messages;
  {
    Driver alert(ALERT_PLUGIN, {{"run", "(sleep 1000; " + into(folder) + ") & wait"}, {"timeout", 0.1}});
    alert.begin(folder.text());
    find(alert, "non_finite", LOUPE_SEVERITY_ERROR);
    alert.end();
    messages = messages_of(alert);
  }
  EXPECT_TRUE(holds(messages, "timeout"));
  EXPECT_FALSE(std::filesystem::exists(folder / "told.json"));
}

TEST(Alert, SaysOnceThatTheCommandFails) {
  const Folder folder;
  Driver alert(ALERT_PLUGIN, {{"run", "exit 3"}});
  alert.begin(folder.text());
  find(alert, "a", LOUPE_SEVERITY_ERROR);
  find(alert, "b", LOUPE_SEVERITY_ERROR);
  alert.end();
  const std::string said = messages_of(alert);
  const auto first = said.find("exit code 3");
  EXPECT_NE(first, std::string::npos) << said;
  EXPECT_EQ(said.find("exit code 3", first + 1), std::string::npos) << said;
}

TEST(Alert, SaysThatNoCommandIsGiven) {
  const Folder folder;
  Driver alert(ALERT_PLUGIN);
  alert.begin(folder.text());
  EXPECT_TRUE(holds(messages_of(alert), "option run"));
}

}  // namespace
}  // namespace loupe::test
