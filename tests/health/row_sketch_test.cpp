#include "health/rules/row_sketch.h"

#include <gtest/gtest.h>

namespace loupe::health {
namespace {

uint64_t hash_of(uint64_t row) {
  uint64_t hash = (row + 1) * 0x9e3779b97f4a7c15;
  hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93;
  return hash ^ hash >> 32;
}

/// Takes `count` rows from `first` on; returns how many of them were known.
int64_t take(RowSketch& sketch, uint64_t first, uint64_t count) {
  int64_t known = 0;
  for (uint64_t row = first; row < first + count; ++row)
    known += sketch.take(hash_of(row), [&] { return row; }) ? 1 : 0;
  return known;
}

struct Compared {
  int64_t rows = 0, known = 0;
};
Compared compare(const RowSketch& sketch, uint64_t first, uint64_t count) {
  Compared compared;
  for (uint64_t row = first; row < first + count; ++row) {
    if (!sketch.is_among(hash_of(row))) continue;
    ++compared.rows;
    compared.known += sketch.has(hash_of(row), [&] { return row; }) ? 1 : 0;
  }
  return compared;
}

TEST(RowSketch, KnowsEachOfAFewRows) {
  RowSketch sketch;
  EXPECT_EQ(take(sketch, 0, 300), 0);
  EXPECT_EQ(take(sketch, 0, 300), 300);
  EXPECT_EQ(sketch.rows(), 300);
  EXPECT_EQ(compare(sketch, 200, 200).known, 100);
}

TEST(RowSketch, HoldsTheSameRowsInAnyOrder) {
  RowSketch sketch;
  take(sketch, 10000, 10000);
  take(sketch, 0, 10000);
  EXPECT_NEAR(sketch.rows(), 20000, 3000);
  const Compared seen = compare(sketch, 5000, 10000), unseen = compare(sketch, 50000, 10000);
  EXPECT_GT(seen.rows, 100);
  EXPECT_EQ(seen.known, seen.rows) << "all rows were taken before";
  EXPECT_GT(unseen.rows, 100);
  EXPECT_EQ(unseen.known, 0);
}

TEST(RowSketch, DistinguishesRowsThatAreEqualInAFewElements) {
  RowSketch sketch;
  sketch.take(7, [] { return uint64_t{1}; });
  EXPECT_FALSE(sketch.has(7, [] { return uint64_t{2}; }));
  EXPECT_FALSE(sketch.take(7, [] { return uint64_t{2}; }));
  EXPECT_TRUE(sketch.has(7, [] { return uint64_t{1}; }));
}

TEST(SharedRows, AreNotSearchedIfRowsRepeatInTheFirstEpochOrNothingIsValidated) {
  SharedRows recurring, alone, usual;
  recurring.first_seen = 100;
  recurring.first_again = 3;
  recurring.take_batch(64, 64, 10);
  recurring.end_epoch(1);
  EXPECT_TRUE(recurring.is_off);
  alone.end_epoch(1);
  EXPECT_FALSE(alone.is_off) << "the first validation may still come";
  alone.end_epoch(2);
  EXPECT_TRUE(alone.is_off);
  usual.first_seen = 100;
  usual.first_again = 1;
  usual.take_batch(64, 64, 10);
  usual.end_epoch(1);
  usual.end_epoch(2);
  EXPECT_FALSE(usual.is_off);
}

TEST(SharedRows, KnowTheTrainingRowsOnceNearlyAllRepeat) {
  SharedRows rows, changing;
  for (SharedRows* each : {&rows, &changing}) {
    each->was_validated = true;
    each->trained = each->first_seen = 100;
    EXPECT_FALSE(each->knows_training());
    each->end_epoch(1);
    each->trained = 100;
  }
  rows.known = 97;
  EXPECT_TRUE(rows.knows_training());
  rows.end_epoch(2);
  EXPECT_TRUE(rows.knows_training()) << "although no more rows are taken";
  rows.end_epoch(3);
  EXPECT_FALSE(rows.is_off);
  changing.end_epoch(2);
  changing.trained = 100;
  changing.end_epoch(3);
  EXPECT_TRUE(changing.is_off);
}

TEST(SharedRows, CountBatchesOfBothKindsApart) {
  SharedRows rows;
  rows.take_batch(64, 20, 20);
  rows.take_batch(64, 20, 0);
  EXPECT_EQ(rows.mixed, 0);
  rows.take_batch(64, 20, 5);
  EXPECT_EQ(rows.mixed, 20);
  EXPECT_EQ(rows.mixed_shared, 5);
  EXPECT_EQ(rows.mixed_rows, 64);
  EXPECT_EQ(rows.compared, 60);
  EXPECT_EQ(rows.shared, 25);
}

}  // namespace
}  // namespace loupe::health
