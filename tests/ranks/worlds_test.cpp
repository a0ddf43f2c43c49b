// Several processes show together the same numbers as a single process with all events.

#include <algorithm>
#include <cmath>

#include "examples/process.h"
#include "paths.h"
#include "run_of_ranks.h"

namespace loupe {
namespace {

std::vector<float> batch(int rank, int number) {
  std::vector<float> values;
  for (int i = 0; i < 40; ++i)
    values.push_back(std::sin(static_cast<float>(rank * 100 + number * 7 + i)) + 0.1f * static_cast<float>(rank));
  return values;
}

/// The number of batches differs between ranks, and rank 2 has none in the first epoch. The last epoch has more batches
/// than a sketch keeps.
int batches_of(std::size_t rank, int epoch) {
  return rank == 2 && epoch == 0 ? 0 : 3 + static_cast<int>(rank) + (epoch == 2 ? 700 : 0);
}

void train(RunOfRanks& run, Rank* alone) {
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (std::size_t rank = 0; rank < run.ranks.size(); ++rank) {
      for (int number = 0; number < batches_of(rank, epoch); ++number) {
        for (std::size_t module = 0; module < 2; ++module) {
          run[rank].forward(module, batch(static_cast<int>(rank), epoch * 10 + number));
          if (alone != nullptr) alone->forward(module, batch(static_cast<int>(rank), epoch * 10 + number));
        }
        const double loss = std::cos(static_cast<double>(rank) * 3 + number);
        run[rank].monitor.push("train_loss", loss, LOUPE_EVENT_LOSS | LOUPE_EVENT_TRAINING);
        if (alone != nullptr) alone->monitor.push("train_loss", loss, LOUPE_EVENT_LOSS | LOUPE_EVENT_TRAINING);
      }
      run[rank].tick_parameter({1, 2, 3, 4, 5, 6});
    }
    run.tick();
    if (alone == nullptr) continue;
    alone->tick_parameter({1, 2, 3, 4, 5, 6});
    alone->monitor.tick(std::nullopt);
  }
}

/// The values that `output_norm` measures in all ranks in one epoch, sorted.
std::vector<double> norms_of(int world_size, int epoch) {
  std::vector<double> norms;
  for (int rank = 0; rank < world_size; ++rank) {
    for (int number = 0; number < batches_of(static_cast<std::size_t>(rank), epoch); ++number) {
      const std::vector<float> values = batch(rank, epoch * 10 + number);
      double sum = 0;  // the batch has one dimension, so each number is a sample
      for (const float value : values) sum += std::abs(value);
      norms.push_back(sum / static_cast<double>(values.size()));
    }
  }
  std::sort(norms.begin(), norms.end());
  return norms;
}

/// The distance of a value from the middle of the sorted `all`, as a share of their number.
double rank_error_of_median(const std::vector<double>& all, double value) {
  const double slack = 1e-12 * value;
  const auto low = std::lower_bound(all.begin(), all.end(), value - slack) - all.begin();
  const auto high = std::upper_bound(all.begin(), all.end(), value + slack) - all.begin();
  const double middle = static_cast<double>(all.size() - 1) / 2, count = static_cast<double>(all.size());
  return std::max({0.0, static_cast<double>(low) - middle, middle - static_cast<double>(high)}) / count;
}

class Worlds : public testing::TestWithParam<int> {};

TEST_P(Worlds, AreMergedAsIfOneProcessHadSeenAllEvents) {
  RunOfRanks run(GetParam());
  fs::remove_all(run.folder + "-alone");
  std::map<std::string, Recorded> expected;
  {
    Rank alone(lenses, 0, 1, nullptr, milliseconds(1));
    alone.monitor.set_directory(run.folder + "-alone");
    train(run, &alone);
    alone.monitor.end(LOUPE_END_COMPLETED, nullptr);
    expected = numbers_of(run.folder + "-alone");
  }
  run.end();
  const auto merged = numbers_of(run.folder);
  ASSERT_GT(expected.size(), 50u);
  EXPECT_EQ(merged.size(), expected.size()) << run.log();
  int medians = 0, histograms = 0;
  for (const auto& [name, of_one] : expected) {
    const auto own = merged.find(name);
    ASSERT_NE(own, merged.end()) << name << " is missing";
    EXPECT_EQ(own->second.events, of_one.events) << name;
    const std::vector<double>&values = of_one.numbers, &of_all = own->second.numbers;
    ASSERT_EQ(of_all.size(), values.size()) << name;
    const bool is_in_last = name[0] == '3', is_histogram = name.find(" Histogram/") != std::string::npos;
    histograms += is_histogram ? 1 : 0;
    if (name.find("/median") != std::string::npos && is_in_last) {
      const std::vector<double> norms = norms_of(GetParam(), 2);
      ASSERT_EQ(norms.size(), of_one.events) << name;
      EXPECT_LT(rank_error_of_median(norms, of_all[0]), 0.01) << name;
      EXPECT_LT(rank_error_of_median(norms, values[0]), 0.01) << name;
      ++medians;
    } else if (is_histogram || name.find("/min") != std::string::npos) {
      EXPECT_EQ(of_all, values) << name << ": counts and extremes are exact";
    } else {
      for (std::size_t i = 0; i < values.size(); ++i)
        EXPECT_NEAR(of_all[i], values[i], 1e-12 * std::abs(values[i])) << name;
    }
  }
  EXPECT_EQ(medians, 2);
  EXPECT_GE(histograms, 6);
}
INSTANTIATE_TEST_SUITE_P(Ranks, Worlds, testing::Values(2, 4, 8));

TEST_P(Worlds, AreMergedFromTheirFoldersAsByTheExchange) {
  std::map<std::string, Recorded> expected;
  const std::string folder = folder_of_test(), merged_folder = folder + "/merged";
  {
    RunOfRanks live(GetParam());
    train(live, nullptr);
    live.end();
    expected = numbers_of(folder);
  }
  {
    RunOfRanks run(GetParam(), milliseconds(20000), apart + lenses);
    train(run, nullptr);
    run.end();
  }
  const auto alone = numbers_of(folder);
  const test::Finished finished = test::run(LOUPE_COMMAND + " merge " + folder, "/");
  ASSERT_EQ(finished.exit_code, 0) << finished.output;
  const auto merged = numbers_of(merged_folder);
  ASSERT_GT(expected.size(), 50u);
  EXPECT_EQ(merged.size(), expected.size());
  std::size_t changed = 0;
  for (const auto& [name, of_all] : expected) {
    const auto own = merged.find(name);
    ASSERT_NE(own, merged.end()) << name << " is missing";
    EXPECT_EQ(own->second.events, of_all.events) << name;
    ASSERT_EQ(own->second.numbers.size(), of_all.numbers.size()) << name;
    // The result of a sketch depends on the order in which others are merged into it.
    const double bound = name.find("/median") != std::string::npos && name[0] == '3' ? 0.02 : 1e-12;
    for (std::size_t i = 0; i < of_all.numbers.size(); ++i)
      EXPECT_NEAR(own->second.numbers[i], of_all.numbers[i], bound * std::abs(of_all.numbers[i])) << name;
    changed += alone.at(name).numbers != own->second.numbers ? 1 : 0;
  }
  EXPECT_GT(changed, 20u) << "rank 0 has different numbers without the others";
}

TEST(Exchange, OfParametersShowsOneReplicaAndNotTheirSum) {
  RunOfRanks run(3);
  train(run, nullptr);
  run.end();
  const auto numbers = numbers_of(run.folder);
  for (const auto& [name, values] : numbers) {
    if (name.find("Weight Norm/one/") != std::string::npos && name.find("count") == std::string::npos) {
      EXPECT_NEAR(values.numbers[0], std::sqrt(91.0), 1e-6) << name;
    }
  }
}

}  // namespace
}  // namespace loupe
