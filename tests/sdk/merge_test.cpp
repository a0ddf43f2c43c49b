// Series and sketches that are filled separately and merged, compared with one that receives all values.

#include <loupe/detail/series.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace loupe {
namespace {

std::vector<double> heavy_tailed(std::size_t count) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> any(0, 2);
  std::vector<double> values(count);
  for (double& value : values) value = any(random);
  return values;
}

Series fed(Series::Keep keep, const std::vector<double>& values, std::size_t first, std::size_t end) {
  Series series(keep);
  for (std::size_t i = first; i < end; ++i) series.push(values[i]);
  return series;
}

/// The series as another process receives it.
Series sent(const Series& series) {
  StateWriter writer;
  series.save(writer);
  StateReader reader(writer.bytes());
  Series read = Series::read(reader);
  reader.finish();
  return read;
}

/// The share of the values that are smaller.
double rank(const std::vector<double>& sorted, double value) {
  const auto below = std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin();
  return static_cast<double>(below) / static_cast<double>(sorted.size());
}

class Merge : public testing::TestWithParam<Series::Keep> {};

TEST_P(Merge, HasTheRunningNumbersOfASeriesWithAllValues) {
  std::vector<double> values = heavy_tailed(10001);
  values[17] = NAN;
  values[9000] = INFINITY;
  values[9001] = -INFINITY;
  const Series whole = fed(GetParam(), values, 0, values.size());
  for (const std::size_t cut : {std::size_t{0}, std::size_t{1}, std::size_t{3000}, values.size()}) {
    Series merged = fed(GetParam(), values, 0, cut);
    merged.merge(sent(fed(GetParam(), values, cut, values.size())));
    const loupe_series got = merged.row(), wanted = whole.row();
    EXPECT_EQ(got.count, wanted.count);
    EXPECT_EQ(got.nan_count, wanted.nan_count);
    EXPECT_EQ(got.inf_count, wanted.inf_count);
    EXPECT_EQ(got.minimum, wanted.minimum);
    EXPECT_EQ(got.maximum, wanted.maximum);
    EXPECT_EQ(got.last, wanted.last);
    EXPECT_NEAR(got.mean / wanted.mean, 1, 1e-12);
    EXPECT_NEAR(got.standard_deviation / wanted.standard_deviation, 1, 1e-12);
    EXPECT_NEAR(got.sum / wanted.sum, 1, 1e-12);
    EXPECT_EQ(merged.values(), whole.values());
  }
}

TEST_P(Merge, OfTwoEmptySeriesIsEmpty) {
  Series merged(GetParam());
  merged.merge(sent(Series(GetParam())));
  EXPECT_TRUE(merged.empty());
  EXPECT_EQ(merged.row().count, 0u);
}

INSTANTIATE_TEST_SUITE_P(EveryWayToKeep, Merge,
                         testing::Values(Series::Keep::running, Series::Keep::quantiles, Series::Keep::values));

TEST(MergedQuantiles, AreWithinOnePercentOfTheRank) {
  const std::vector<double> values = heavy_tailed(200000);
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  QuantileSketch merged;
  for (std::size_t part = 0; part < 8; ++part) {
    QuantileSketch sketch;
    for (std::size_t i = part * 25000; i < (part + 1) * 25000; ++i) sketch.push(values[i]);
    StateWriter writer;
    sketch.save(writer);
    StateReader reader(writer.bytes());
    merged.merge(QuantileSketch::read(reader));
  }
  EXPECT_EQ(merged.count(), values.size());
  for (const double q : {0.01, 0.25, 0.5, 0.75, 0.99}) EXPECT_NEAR(rank(sorted, merged.quantile(q)), q, 0.01) << q;
}

TEST(MergedQuantiles, OfFewValuesAreExact) {
  QuantileSketch merged, other;
  for (const double value : {5., 1., 3.}) merged.push(value);
  for (const double value : {2., 4.}) other.push(value);
  merged.merge(other);
  EXPECT_EQ(merged.quantile(0.5), 3);
  EXPECT_EQ(merged.quantile(0.25), 2);
}

TEST(MergedQuantiles, AcceptFurtherValues) {
  QuantileSketch merged, other;
  for (int i = 0; i < 5000; ++i) merged.push(i);
  for (int i = 5000; i < 10000; ++i) other.push(i);
  merged.merge(other);
  for (int i = 10000; i < 20000; ++i) merged.push(i);
  EXPECT_EQ(merged.count(), 20000u);
  EXPECT_NEAR(merged.quantile(0.5), 10000, 200);
}

TEST(SeriesState, OfAnUnknownKindIsRefused) {
  StateWriter writer;
  writer.number(9);
  for (int i = 0; i < 20; ++i) writer.number(0);
  StateReader reader(writer.bytes());
  EXPECT_THROW(Series::read(reader), Error);
}

TEST(SeriesState, OfASketchThatIsTooLargeIsRefused) {
  StateWriter writer;
  writer.number(std::uint64_t{1} << 40);
  writer.number(0);
  StateReader large(writer.bytes());
  EXPECT_THROW(QuantileSketch::read(large), Error);
  StateWriter levels;
  levels.number(512);
  levels.number(64);
  for (int i = 0; i < 64; ++i) levels.number(0);
  StateReader many(levels.bytes());
  EXPECT_THROW(QuantileSketch::read(many), Error);
}

}  // namespace
}  // namespace loupe
