// `loupe run` with parameters that belong to no module and are replaced while they train.

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "examples/process.h"
#include "paths.h"

namespace loupe::test {
namespace {

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

class Splats : public testing::TestWithParam<const char*> {};

TEST_P(Splats, StayOneModelWithAnUnchangedNameForEachTensorAndACurveOfTheirNumber) {
  const auto folder = fresh_folder();
  const std::string program = std::string(LOUPE_SPLATS) + " " + GetParam();
  const Finished alone = run(program, folder);
  const Finished watched =
      run(std::string(LOUPE_COMMAND) + " run --every-step " + program + " 2> messages.txt", folder);
  const std::string messages = text_of(folder / "messages.txt");
  ASSERT_EQ(watched.exit_code, 0) << messages;
  EXPECT_EQ(watched.output, alone.output);

  const auto file = folder / "loupe-runs/splats/record.jsonl";
  EXPECT_EQ(count(text_of(file), "\"kind\":\"model\""), 1U) << messages;
  EXPECT_EQ(count(messages, "watching 'Parameters'"), 1U) << messages;
  EXPECT_EQ(count(messages, "are in no known module"), 0U) << messages;
  Recorded recorded = read_record(file);
  EXPECT_EQ(recorded.layers("Weight Gradient Norm"),
            (std::set<std::string>{"Parameters.Nx2", "Parameters.Nx2#2", "Parameters.Nx3"}));
  // The number of shown epochs depends on the cost of reports. A renamed tensor would lack the later epochs.
  const auto& norms = recorded.values["Weight Gradient Norm"];
  const std::size_t epochs = norms.begin()->second.at("mean").size();
  EXPECT_GE(epochs, 2U) << messages;
  for (const auto& [layer, lines] : norms) EXPECT_EQ(lines.at("mean").size(), epochs) << layer << messages;
  EXPECT_EQ(recorded.values["Learning Rate"]["Learning Rate"].size(), 4U) << "no rates of destroyed optimizers";
  auto& rows = recorded.values["Metrics"]["Metrics"]["rows of Nx2 mean"];
  ASSERT_FALSE(rows.empty()) << messages;
  // There are 100 in the last epoch; the last shown epochs may be several.
  EXPECT_LT(rows.begin()->second, rows.rbegin()->second);
  EXPECT_LE(rows.rbegin()->second, 100);
}

INSTANTIATE_TEST_SUITE_P(Programs, Splats, testing::Values("group", "each", "again"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace loupe::test
