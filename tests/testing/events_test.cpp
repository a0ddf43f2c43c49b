// The number of events behind each value in a record.

#include <gtest/gtest.h>
#include <loupe/testing.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "paths.h"

namespace {

namespace fs = std::filesystem;
namespace lt = loupe::testing;

/// The `events` of each line of a record that contains `text`; "none" for a line without them.
std::string events_of(const fs::path& record, const std::string& text) {
  std::ifstream file(record);
  std::string all;
  for (std::string line; std::getline(file, line);) {
    if (line.find(text) == std::string::npos) continue;
    const std::string key = "\"events\":";
    const std::size_t at = line.find(key);
    const std::string number = at == std::string::npos ? "none" : line.substr(at + key.size());
    all += (all.empty() ? "" : " ") + number.substr(0, number.find_first_of(",}"));
  }
  return all;
}

TEST(Events, AreCountedForLinesBandsRatesAndHistograms) {
  const fs::path folder = fs::path(LOUPE_TEST_FOLDER) / "Events";
  fs::remove_all(folder);
  lt::Bench bench("run: {dir: " + folder.string() +
                      "}\nvisualizers: [record]\nlenses: [output_norm, output_activation, loss_metrics, "
                      "histograms: {gradients: false}]\n",
                  {LOUPE_BUILT_PLUGINS});
  const lt::Module act = bench.module("act", "ReLU");
  for (const int events : {3, 5}) {
    for (int i = 0; i < events; ++i) bench.forward(act, lt::tensor({1, 2, 0, 3}, {2, 2}));
    bench.push_metric("accuracy", 0.5);
    bench.tick();
  }
  bench.end();
  const fs::path record = folder / "record.jsonl";
  EXPECT_EQ(events_of(record, R"("tag":"Output Norm","layer":"act","line":"mean")"), "3 5");
  EXPECT_EQ(events_of(record, R"("tag":"Output Norm","layer":"act","low_name":"min")"), "3 5");
  EXPECT_EQ(events_of(record, R"("line":"activation_rate")"), "3 5");
  EXPECT_EQ(events_of(record, R"("line":"death_rate")"), "3 5");
  EXPECT_EQ(events_of(record, R"("kind":"histogram")"), "3 5");
  EXPECT_EQ(events_of(record, R"("line":"accuracy mean")"), "1 1");
  EXPECT_EQ(events_of(record, R"("tag":"Mean Output Norm Comparison","layer")"), "none none")
      << "the value comes from all layers";
}

}  // namespace
