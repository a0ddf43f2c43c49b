// Ranks measure as often as their budgets allow. Only steps that all ranks measured are compared.

#include "ranks/common_steps.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace loupe::ranks {
namespace {

/// The steps that a host keeps if it measures two of each 2 * `every` steps.
std::vector<MeasuredStep> measured_steps(uint64_t steps, uint64_t every) {
  KeptSteps kept;
  for (uint64_t at = 0; at < steps; ++at) {
    if (at % (2 * every) < 2) kept.add(at, {.step = 100 + at, .forwards = 1});
  }
  return kept.take();
}

std::set<uint64_t> numbers_of(const std::vector<MeasuredStep>& steps) {
  std::set<uint64_t> numbers;
  for (const MeasuredStep& each : steps) numbers.insert(each.step);
  return numbers;
}

TEST(KeptSteps, OfARankThatMeasuresAllIncludeThoseOfARankThatMeasuresFew) {
  for (const uint64_t every : {4, 8, 32}) {
    const auto few = measured_steps(300, every), all = measured_steps(300, 1);
    EXPECT_EQ(all.size(), KeptSteps::most);
    std::size_t common = 0;
    for (const uint64_t number : numbers_of(few)) common += numbers_of(all).count(number);
    EXPECT_GE(common, std::min<std::size_t>(few.size(), 8)) << every;
  }
}

TEST(KeptSteps, OfAShortEpochAreAllItsSteps) {
  EXPECT_EQ(numbers_of(measured_steps(10, 1)).size(), 10U);
}

class CommonSteps : public testing::Test {
 protected:
  /// A record of these steps. Each has a different batch, with as many rows as the number of the step.
  static RankRecord of(const std::vector<uint64_t>& steps) {
    RankRecord record;
    for (const uint64_t step : steps)
      record.measured.push_back({.step = step,
                                 .forwards = 1,
                                 .rows = step,
                                 .input_squares = static_cast<double>(step * step),
                                 .input_elements = 1,
                                 .gradient_squares = static_cast<double>(step * step),
                                 .seconds = 0.1 * static_cast<double>(step),
                                 .waited = 0.01 * static_cast<double>(step),
                                 .batches = {step}});
    return record;
  }
};

TEST_F(CommonSteps, AreTheOnlyOnesThatAreCompared) {
  std::map<int, RankRecord> records{{0, of({1, 2, 3, 4, 5, 6})}, {1, of({1, 2, 9, 10})}, {2, of({1, 2, 5, 6})}};
  compare_common_steps(records, {});
  for (const auto& [rank, record] : records) {
    EXPECT_EQ(record.compared, 2U) << rank;
    EXPECT_EQ(record.batches, (std::vector<uint64_t>{1, 2})) << rank;
    EXPECT_DOUBLE_EQ(record.batch_size, 1.5) << rank;
    EXPECT_DOUBLE_EQ(record.gradient, std::sqrt(2.5)) << rank;
    EXPECT_DOUBLE_EQ(record.input, std::sqrt(2.5)) << rank;
    EXPECT_EQ(record.timed, 2U) << rank;
    EXPECT_DOUBLE_EQ(record.waited_seconds, 0.02) << rank;
  }
}

TEST_F(CommonSteps, LeaveTheNumbersUnknownIfThereAreNone) {
  std::map<int, RankRecord> records{{0, of({1, 2})}, {1, of({3, 4})}};
  compare_common_steps(records, {});
  EXPECT_EQ(records[0].compared, 0U);
  EXPECT_TRUE(std::isnan(records[0].gradient));
  EXPECT_TRUE(records[0].batches.empty());
}

TEST_F(CommonSteps, ExcludeARankThatMeasuredOtherSteps) {
  std::map<int, RankRecord> records;
  for (int rank = 0; rank < 9; ++rank) records[rank] = of({1, 2});
  records[9] = of({7});
  compare_common_steps(records, {});
  EXPECT_EQ(records[3].compared, 2U);
  EXPECT_EQ(records[9].compared, 0U);
}

TEST_F(CommonSteps, NameTheModulesThatWereInEvalModeInEachOfTheSteps) {
  std::map<int, RankRecord> records{{0, of({1, 2, 3})}, {1, of({1, 2})}};
  records[0].measured[0].evaluated = {0, 1};
  records[0].measured[1].evaluated = {1};
  compare_common_steps(records, {"drop", "norm"});
  EXPECT_EQ(records[0].evaluated, (std::vector<std::string>{"norm"}));
  EXPECT_TRUE(records[1].evaluated.empty());
}

TEST_F(CommonSteps, UseADevicesGradientsOfTheWholeTick) {
  std::map<int, RankRecord> records{{0, of({1, 2})}, {1, of({1, 2})}};
  for (MeasuredStep& each : records[0].measured) each.gradient_squares = NAN;
  records[0].device_gradient = 7;
  compare_common_steps(records, {});
  EXPECT_EQ(records[0].gradient, 7);
}

}  // namespace
}  // namespace loupe::ranks
