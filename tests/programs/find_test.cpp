// What three lines of Loupe find in a program that creates its optimizers and losses in called functions.

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "examples/process.h"
#include "paths.h"

namespace loupe::test {
namespace {

struct Found {
  Recorded recorded;
  std::string lines, messages;
};

Found train(const std::string& argument) {
  const auto folder = fresh_folder();
  std::ofstream(folder / "monitor.yaml") << "run: {dir: run}\n"
                                            "lenses: [loss_metrics, run_statistics, parameter_difference]\n"
                                            "visualizers: [record]\n";
  const Finished finished = run(std::string(LOUPE_THREE_LINES) + " " + argument + " 2> messages.txt", folder);
  const std::string messages = text_of(folder / "messages.txt");
  EXPECT_EQ(finished.exit_code, 0) << messages;
  return {read_record(folder / "run/record.jsonl"), text_of(folder / "run/record.jsonl"), messages};
}

TEST(ThreeLines, ShowTheLossTheRateAndTheUpdatesOfObjectsInCalledFunctions) {
  Found found = train("");
  EXPECT_EQ(found.recorded.layers("Learning Rate").size(), 1U) << found.messages;
  EXPECT_FALSE(found.recorded.values["Learning Rate"].empty()) << found.messages;
  EXPECT_EQ(found.recorded.layers("Weight Update Norm").size(), 2U) << found.messages;
  const auto& losses = found.recorded.values["Loss"]["Loss"];
  ASSERT_TRUE(losses.count("train_loss mean")) << found.messages;
  EXPECT_EQ(losses.at("train_loss mean").size(), 3U);
  const auto first = found.lines.find("\"line\":\"train_loss mean\"");
  EXPECT_NE(found.lines.substr(first, 80).find("\"events\":20"), std::string::npos) << "the first loss counts, too";
  EXPECT_EQ(losses.at("val_loss mean").size(), 3U);
}

TEST(ThreeLines, PreferLossesThatTheTrainerPushes) {
  Found found = train("pushes");
  const auto& losses = found.recorded.values["Loss"]["Loss"];
  ASSERT_TRUE(losses.count("train_loss mean")) << found.messages;
  for (const auto& [epoch, loss] : losses.at("train_loss mean")) EXPECT_GT(loss, 100) << epoch;
}

}  // namespace
}  // namespace loupe::test
