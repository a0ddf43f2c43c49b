// The example trainers learn, and Loupe watches their unchanged models.

#include <gtest/gtest.h>

#include "paths.h"
#include "process.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;

/// Trains with the configuration named after the trainer, and returns the record.
Recorded train(const std::string& trainer, int epochs) {
  const fs::path folder = fresh_folder();
  const Finished finished = run(LOUPE_EXAMPLES + "/" + trainer + " --config " + LOUPE_CONFIGS + "/" + trainer +
                                    ".yaml" + " --out . --epochs " + std::to_string(epochs),
                                folder);
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    EXPECT_NE(finished.output.find("epoch  " + std::to_string(epoch) + "/"), std::string::npos) << finished.output;
  }
  return read_record(folder / "runs" / trainer / "record.jsonl");
}

using Names = std::set<std::string>;

TEST(Digits, LearnsToReadAndShowsEveryActivationOfItsUneditedModel) {
  Recorded recorded = train("digits", 3);
  EXPECT_GT(recorded.values["Metrics"]["Metrics"]["accuracy mean"][3], 0.9);
  EXPECT_EQ(recorded.layers("Weight Gradient Norm"),
            (Names{"features.0", "features.1", "features.3", "features.4", "hidden", "output"}));
}

TEST(Gan, ShowsBothModelsUnderTheirNames) {
  const Recorded recorded = train("gan", 2);
  const Names layers = recorded.layers("Weight Gradient Norm");
  EXPECT_TRUE(layers.count("generator.project")) << testing::PrintToString(layers);
  EXPECT_TRUE(layers.count("discriminator.judge")) << testing::PrintToString(layers);
}

TEST(Sequence, ShowsTheLstmsParametersAndOutput) {
  const Recorded recorded = train("sequence", 1);
  EXPECT_TRUE(recorded.layers("Weight Gradient Norm").count("memory.weight_hh_l0"))
      << testing::PrintToString(recorded.tags());
  EXPECT_TRUE(recorded.layers("Output Norm").count("memory")) << testing::PrintToString(recorded.tags());
}

TEST(Trainers, RefuseAWrongConfigurationWithoutTraining) {
  const Finished finished = run(LOUPE_EXAMPLES + "/digits --config nowhere.yaml", fresh_folder());
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_NE(finished.output.find("nowhere.yaml"), std::string::npos) << finished.output;
  EXPECT_EQ(finished.output.find("epoch"), std::string::npos) << finished.output;
}

}  // namespace
}  // namespace loupe::test
