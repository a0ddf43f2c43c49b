// How visualizers show learning rates: those that two lenses report, and those of a replaced optimizer.

#include <gtest/gtest.h>
#include <loupe/testing.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "paths.h"

namespace {

using loupe::testing::Bench;
using loupe::testing::tensor;

/// Trains an epoch of two steps.
void train(Bench& bench, loupe::testing::Module layer) {
  for (const double weight : {1., 2.}) {
    bench.set(layer, "weight", tensor({weight}));
    bench.push_loss(weight);
    bench.step();
  }
  bench.tick();
}

TEST(LearningRates, AreShownOnceThoughTwoLensesTellThem) {
  const std::string folder = LOUPE_TEST_FOLDER + "/LearningRates";
  std::filesystem::remove_all(folder);
  {
    Bench bench("run: {dir: " + folder + "}\nlenses: [run_statistics, learning_rate]\nvisualizers: [record]\n");
    const auto layer = bench.module("fc1", "Linear", {{"weight", {1}}});
    bench.optimizer("SGD", 0.5);
    for (int epoch = 0; epoch < 3; ++epoch) train(bench, layer);
    EXPECT_DOUBLE_EQ(bench.value("Learning Rate", "", "SGD"), 0.5);
    bench.end();
  }
  std::ifstream record(folder + "/record.jsonl");
  int values = 0;
  for (std::string line; std::getline(record, line);)
    values += line.find("\"kind\":\"value\"") != std::string::npos && line.find("Learning Rate") != std::string::npos;
  EXPECT_EQ(values, 3);
}

TEST(LearningRates, OfTheOptimizerThatTakesAnothersPlaceStandWhereThatsStood) {
  testing::internal::CaptureStdout();
  Bench bench("lenses: [learning_rate, loss_metrics]\nvisualizers: [console]\n");
  const auto layer = bench.module("fc1", "Linear", {{"weight", {1}}});
  bench.optimizer("Adam", 0.25);
  train(bench, layer);
  bench.optimizer("SGD", 0.5);
  train(bench, layer);
  bench.end();
  const std::string shown = testing::internal::GetCapturedStdout();
  const std::size_t second = shown.find("epoch 2");
  ASSERT_NE(second, std::string::npos) << shown;
  EXPECT_EQ(shown.find("Adam", second), std::string::npos) << shown;
  EXPECT_LT(shown.find("train_loss", second), shown.find("Learning Rate 0.5", second))
      << "it must come after the losses: " << shown;
}

}  // namespace
