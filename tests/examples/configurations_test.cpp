// Every ready configuration is accepted, runs with its trainer, and fills its record.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>

#include "paths.h"
#include "process.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> configurations() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(LOUPE_CONFIGS)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Configuration : public testing::TestWithParam<std::string> {
 protected:
  const fs::path file = fs::path(LOUPE_CONFIGS) / (GetParam() + ".yaml");
};

TEST_P(Configuration, IsValid) {
  const Finished finished = run(LOUPE_COMMAND + " validate " + file.string(), fresh_folder());
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
}

TEST_P(Configuration, RunsWithoutAComplaintAndFillsItsRecord) {
  const std::string trainer = GetParam() == "gan" || GetParam() == "sequence" ? GetParam() : "digits";
  const fs::path folder = fresh_folder();
  const Finished finished =
      run(LOUPE_EXAMPLES + "/" + trainer + " --epochs 2 --config " + file.string() + " --out .", folder);
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  // Ignore warnings about a lens's time, which depends on the machine.
  const std::regex of_time("loupe: warning: the lens '[^']+' takes [0-9]+ % of the time[^\n]*");
  const std::string told = std::regex_replace(finished.output, of_time, "");
  EXPECT_FALSE(std::regex_search(told, std::regex("loupe: (warning|error)"))) << finished.output;

  const std::string text = text_of(file);
  std::smatch match;
  if (!std::regex_search(text, match, std::regex("\\n  - record(: \\{path: ([^}]+)\\})?\\s|console, record\\]")))
    return;
  const std::string name = match[2].matched ? match[2].str() : "record.jsonl";
  const Recorded recorded = read_record(folder / "runs" / GetParam() / name);
  // Each lens has at least one tag.
  const std::regex lens("\\n  - (loss_metrics|output_|gradient_|parameter_)");
  const auto lenses = std::distance(std::sregex_iterator(text.begin(), text.end(), lens), std::sregex_iterator());
  EXPECT_GE(static_cast<std::ptrdiff_t>(recorded.values.size()), lenses) << testing::PrintToString(recorded.tags());
}

INSTANTIATE_TEST_SUITE_P(Ready, Configuration, testing::ValuesIn(configurations()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace loupe::test
