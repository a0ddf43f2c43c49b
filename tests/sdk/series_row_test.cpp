// Series through the C table of a C++ preprocessor: rows, quantiles, names and states.

#include <gtest/gtest.h>
#include <loupe/detail/preprocessor_table.h>
#include <loupe/detail/series_reading.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace loupe {
namespace {

/// A preprocessor that pushes each value into three series, which keep their numbers in different ways.
class Three : public Preprocessor {
 public:
  Request request() const override { return {}; }
  void process(const Event& event) override {
    for (Series* series : series_) series->push(event.scalar());
  }

 private:
  Series* series_[3] = {&add_series("folded"), &add_series("sketched", Series::Keep::quantiles),
                        &add_series("kept", Series::Keep::values)};
};
constexpr std::size_t folded = 0, sketched = 1, kept = 2;

class SeriesRow : public testing::Test {
 protected:
  void push(const std::vector<double>& values) {
    for (const double value : values) {
      loupe_event event{.struct_size = sizeof(loupe_event), .scalar = value};
      ASSERT_EQ(table_.process(self_, &event, error_.get()), LOUPE_OK) << error_.text();
    }
  }
  loupe_series row(std::size_t index) { return detail::series_row(table_, self_, index); }
  std::pair<loupe_status, std::vector<double>> quantiles(std::size_t index, const std::vector<double>& q) {
    std::vector<double> values(q.size(), -1);
    const loupe_status status = table_.quantiles(self_, index, q.data(), q.size(), values.data(), error_.get());
    return {status, values};
  }

  Three three_;
  void* self_ = static_cast<Preprocessor*>(&three_);
  const loupe_preprocessor& table_ = *detail::preprocessor_table();
  detail::ErrorBuffer error_;
};

TEST_F(SeriesRow, OfAnEmptySeriesHasOnlyAName) {
  for (const std::size_t series : {folded, sketched, kept}) {
    const loupe_series empty = row(series);
    for (const uint64_t count : {empty.count, empty.nan_count, empty.inf_count}) EXPECT_EQ(count, 0u);
    for (const double number :
         {empty.sum, empty.mean, empty.standard_deviation, empty.minimum, empty.maximum, empty.last})
      EXPECT_EQ(number, 0);
  }
  EXPECT_STREQ(row(sketched).name, "sketched");
}

TEST_F(SeriesRow, HasAllNumbersOfThePopulation) {
  push({1, 2, 3, 6});
  for (const std::size_t series : {folded, sketched, kept}) {
    const loupe_series read = row(series);
    EXPECT_EQ(read.count, 4u);
    EXPECT_EQ(read.sum, 12);
    EXPECT_EQ(read.mean, 3);
    EXPECT_DOUBLE_EQ(read.standard_deviation, std::sqrt(3.5));
    EXPECT_EQ(read.minimum, 1);
    EXPECT_EQ(read.maximum, 6);
    EXPECT_EQ(read.last, 6);
  }
}

TEST_F(SeriesRow, CountsNanAndInfSeparately) {
  push({NAN, 2, INFINITY, 4, -INFINITY, NAN, NAN});
  const loupe_series read = row(folded);
  EXPECT_EQ(read.count, 2u);
  EXPECT_EQ(read.nan_count, 3u);
  EXPECT_EQ(read.inf_count, 2u);
  EXPECT_EQ(read.mean, 3);
  EXPECT_EQ(read.maximum, 4);
  EXPECT_TRUE(std::isnan(read.last));
}

TEST_F(SeriesRow, OfOnlyNanHasNoOtherNumbers) {
  push({NAN});
  EXPECT_EQ(row(folded).count, 0u);
  EXPECT_EQ(row(folded).nan_count, 1u);
  EXPECT_EQ(row(folded).mean, 0);
  EXPECT_EQ(row(folded).minimum, 0);
}

TEST_F(SeriesRow, KeepsTheAddressOfItsName) {
  const char* name = row(kept).name;
  push({1, 2});
  ASSERT_EQ(table_.reset(self_, error_.get()), LOUPE_OK);
  EXPECT_EQ(row(kept).name, name);
  EXPECT_STREQ(name, "kept");
}

TEST_F(SeriesRow, OfAnUnknownIndexIsNotFound) {
  loupe_series read{};
  read.struct_size = sizeof read;
  EXPECT_EQ(table_.read(self_, 3, &read, error_.get()), LOUPE_NOT_FOUND);
  EXPECT_STREQ(error_.text(), "there is no series 3");
}

TEST_F(SeriesRow, WritesOnlyUpToTheEndOfTheCallersStruct) {
  push({5});
  struct {
    loupe_series known;
    double newer;
  } wide{};
  wide.known.struct_size = sizeof wide;
  wide.newer = 7;
  EXPECT_EQ(table_.read(self_, folded, &wide.known, error_.get()), LOUPE_OK);
  EXPECT_EQ(wide.known.mean, 5);
  EXPECT_EQ(wide.newer, 7);
  EXPECT_EQ(wide.known.struct_size, sizeof wide);
  wide.known.struct_size = offsetof(loupe_series, last);
  EXPECT_EQ(table_.read(self_, folded, &wide.known, error_.get()), LOUPE_INVALID);
}

TEST_F(SeriesRow, ReturnsManyQuantilesInOneCall) {
  push({4, NAN, 1, 3, INFINITY, 2, 5});
  const std::vector<double> q = {1, 0.5, 0.25, 0, 0.125}, wanted = {5, 3, 2, 1, 1.5};
  EXPECT_EQ(quantiles(sketched, q), std::pair(loupe_status{LOUPE_OK}, wanted));
  EXPECT_EQ(quantiles(kept, q), std::pair(loupe_status{LOUPE_OK}, wanted));
}

TEST_F(SeriesRow, RefusesAQuantileOfASeriesThatKeepsNone) {
  push({1});
  EXPECT_EQ(quantiles(folded, {0.5}).first, LOUPE_UNSUPPORTED);
  EXPECT_NE(std::string(error_.text()).find("a quantile of 'folded' was requested"), std::string::npos);
}

TEST_F(SeriesRow, FindsNoQuantileOfAnEmptySeries) {
  EXPECT_EQ(quantiles(kept, {0.5}).first, LOUPE_NOT_FOUND);
  push({NAN});
  EXPECT_EQ(quantiles(sketched, {0.5}).first, LOUPE_NOT_FOUND);
  EXPECT_EQ(quantiles(7, {0.5}).first, LOUPE_NOT_FOUND);
}

TEST_F(SeriesRow, RefusesQuantilesOutOfRange) {
  push({1, 2});
  for (const double q : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(quantiles(sketched, {0.5, q}), std::pair(loupe_status{LOUPE_INVALID}, std::vector<double>{-1, -1})) << q;
    EXPECT_EQ(quantiles(kept, {q}).first, LOUPE_INVALID) << q;
  }
}

TEST_F(SeriesRow, IsFoundByItsName) {
  std::size_t index = 9;
  EXPECT_EQ(detail::find_series(table_, self_, "kept", &index, error_.get()), LOUPE_OK);
  EXPECT_EQ(index, kept);
}

TEST_F(SeriesRow, OfAnUnknownNameIsReportedWithAllNames) {
  std::size_t index = 0;
  EXPECT_EQ(detail::find_series(table_, self_, "skeched", &index, error_.get()), LOUPE_NOT_FOUND);
  EXPECT_STREQ(error_.text(),
               "there is no series 'skeched', did you mean 'sketched'? There are: folded, sketched, kept");
}

TEST(UnknownSeries, ThatIsLikeNoOtherIsReportedInSentences) {
  EXPECT_EQ(detail::unknown_series_text("nope", {"value", "count"}),
            "there is no series 'nope'. There are: value, count");
}

TEST_F(SeriesRow, IsSavedAndMerged) {
  push({1, 2, NAN});
  std::string bytes;
  const loupe_write append = [](void* to, const void* piece, std::size_t size, loupe_error*) -> loupe_status {
    static_cast<std::string*>(to)->append(static_cast<const char*>(piece), size);
    return LOUPE_OK;
  };
  ASSERT_EQ(table_.save_state(self_, append, &bytes, error_.get()), LOUPE_OK);
  push({3});
  ASSERT_EQ(table_.merge_state(self_, bytes.data(), bytes.size(), error_.get()), LOUPE_OK) << error_.text();
  EXPECT_EQ(row(folded).count, 5u);
  EXPECT_EQ(row(folded).sum, 9);
  EXPECT_EQ(row(folded).nan_count, 2u);
}

TEST_F(SeriesRow, IsNotSavedIfTheWriterFails) {
  const loupe_write refuse = [](void*, const void*, std::size_t, loupe_error* error) -> loupe_status {
    detail::write_error(error, "the disk is full");
    return LOUPE_UNSUPPORTED;
  };
  EXPECT_EQ(table_.save_state(self_, refuse, nullptr, error_.get()), LOUPE_UNSUPPORTED);
  EXPECT_STREQ(error_.text(), "the disk is full");
}

}  // namespace
}  // namespace loupe
