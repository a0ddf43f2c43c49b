// How the rows of batches show a program's epochs.

#include "run/epoch_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace loupe {
namespace {

using Rows = std::vector<std::uint64_t>;

Rows numbered(std::uint64_t begin, std::size_t count) {
  Rows rows(count);
  std::iota(rows.begin(), rows.end(), begin);
  return rows;
}

/// How often the samples start again within this many epochs of `all`, in batches of 10.
int times_in_epochs(RecurringRows& rows, Rows all, int epochs, bool shuffles = false) {
  std::mt19937 random(5);
  int times = 0;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    if (shuffles) std::shuffle(all.begin(), all.end(), random);
    for (auto at = all.begin(); at != all.end(); at += std::min<std::ptrdiff_t>(10, all.end() - at)) {
      const bool begins = rows.take(Rows(at, at + std::min<std::ptrdiff_t>(10, all.end() - at)));
      EXPECT_TRUE(!begins || (epoch > 0 && at == all.begin()));
      times += begins ? 1 : 0;
    }
  }
  return times;
}

TEST(RecurringRows, StartAgainWithEachEpochInAnyOrder) {
  for (const bool shuffles : {false, true}) {
    RecurringRows rows;
    EXPECT_EQ(times_in_epochs(rows, numbered(0, 207), 6, shuffles), 5) << shuffles;
    EXPECT_TRUE(rows.looks());
  }
}

TEST(RecurringRows, ShowNoEpochsIfRowsAreDrawnAtRandom) {
  for (const std::uint64_t samples : {20, 100, 1000}) {
    RecurringRows rows;
    std::mt19937 random(5);
    for (int step = 0; step < 1000; ++step) {
      Rows batch(16);
      for (std::uint64_t& row : batch) row = random() % samples;
      EXPECT_FALSE(rows.take(batch)) << samples << " in step " << step;
    }
    EXPECT_FALSE(rows.looks());
  }
}

TEST(RecurringRows, ShowNoEpochsInAGrowingBuffer) {
  RecurringRows rows;
  std::mt19937 random(5);
  for (std::uint64_t step = 0; step < 1000; ++step) {
    Rows batch(16);
    for (std::uint64_t& row : batch) row = random() % (16 + step);
    EXPECT_FALSE(rows.take(batch)) << step;
  }
}

TEST(RecurringRows, ShowNoEpochsInAFewBatches) {
  RecurringRows one, few;
  for (int step = 0; step < 100; ++step) EXPECT_FALSE(one.take(numbered(0, 16)));
  EXPECT_FALSE(one.looks());
  for (std::uint64_t step = 0; step < 9; ++step) EXPECT_FALSE(few.take(numbered(step % 3 * 16, 16)));
}

TEST(RecurringRows, ShowNoEpochsInSeveralPassesOverEachBatch) {
  RecurringRows rows;
  for (std::uint64_t step = 0; step < 30; ++step) {
    for (int pass = 0; pass < 3; ++pass) EXPECT_FALSE(rows.take(numbered(step % 6 * 16, 16)));
  }
  EXPECT_FALSE(rows.looks());
}

TEST(RecurringRows, ShowNoEpochsAnymoreAfterNewRows) {
  RecurringRows rows;
  EXPECT_EQ(times_in_epochs(rows, numbered(0, 80), 3), 2) << "so far, these rows look like the whole data set";
  EXPECT_EQ(times_in_epochs(rows, numbered(80, 80), 3), 0) << "the rows of the next rollout";
  EXPECT_FALSE(rows.looks());
  EXPECT_TRUE(rows.has_erred());
}

TEST(RecurringRows, GiveUpIfNoRowRecursOrThereAreTooManyToKeep) {
  RecurringRows rows;
  std::uint64_t begin = 0;
  for (; rows.looks() && begin < 200'000; begin += 100) EXPECT_FALSE(rows.take(numbered(begin, 100)));
  EXPECT_LT(begin, 100'000u);
  EXPECT_FALSE(rows.has_erred());
}

}  // namespace
}  // namespace loupe
