#include "html/pace.h"

#include <gtest/gtest.h>

namespace loupe::html {
namespace {

constexpr std::size_t SMALL = 100'000, LARGE = 40'000'000;

TEST(Pace, WritesASmallReportAtEveryTickOnAnyDisk) {
  Pace pace;
  for (int tick = 0; tick < 100; ++tick) {
    ASSERT_TRUE(pace.is_due(0));
    pace.wrote(SMALL, 10);
  }
}

TEST(Pace, WritesALargeReportAtEveryTickIfThatCostsATwentiethAtMost) {
  Pace pace;
  for (int tick = 0; tick < 100; ++tick) {
    ASSERT_TRUE(pace.is_due(tick == 0 ? 0 : 19 * 0.05));
    pace.wrote(LARGE, 0.05);
  }
}

TEST(Pace, SkipsTicksThatFollowTooFastButNeverTwentyInARow) {
  Pace pace;
  ASSERT_TRUE(pace.is_due(0));
  pace.wrote(LARGE, 0.05);
  for (int round = 0; round < 3; ++round) {
    for (int tick = 0; tick < 19; ++tick) ASSERT_FALSE(pace.is_due(0.04)) << tick;
    ASSERT_TRUE(pace.is_due(0.04));
    pace.wrote(LARGE, 0.05);
  }
}

TEST(Pace, WritesALargeReportMoreAndMoreSeldomWhereVeryManyTicksFollowTooFast) {
  Pace pace;
  int writes = 0;
  for (int tick = 0; tick < 100'000; ++tick) {
    if (!pace.is_due(0)) continue;
    ++writes;
    pace.wrote(LARGE, 1);
  }
  // Each write contains all ticks so far, and all writes together should cost only a few times the last one.
  EXPECT_LT(writes, 200);
}

TEST(Pace, WritesOnlyAFewOfThousandsOfErrorsImmediately) {
  Pace pace;
  const auto count_early = [&] {
    int writes = 0;
    for (int error = 0; error < 10'000; ++error) {
      if (!pace.is_due_early(0)) continue;
      ++writes;
      pace.wrote(1000, 0.002);
    }
    return writes;
  };
  const int first = count_early();
  EXPECT_GE(first, 2);
  EXPECT_LT(first, 100);
  EXPECT_EQ(count_early(), 0);
  EXPECT_TRUE(pace.is_due_early(0.1)) << "a write is cheap after this time";
  EXPECT_TRUE(pace.is_due(0));
  EXPECT_GE(count_early(), 2) << "a new epoch has begun";
}

TEST(Pace, WritesAtTheNextTickAfterAFailure) {
  Pace pace;
  pace.wrote(LARGE, 0.05);
  ASSERT_FALSE(pace.is_due(0));
  ASSERT_FALSE(pace.is_cheap(0.9));
  EXPECT_TRUE(pace.is_cheap(1));
  pace.failed();
  EXPECT_TRUE(pace.is_cheap(0));
  EXPECT_TRUE(pace.is_due(0));
}

}  // namespace
}  // namespace loupe::html
