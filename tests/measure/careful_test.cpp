#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "measure/measurer.h"
#include "measure/scan.h"
#include "reference.h"
#include "tensor.h"

namespace loupe::measure {
namespace {

TEST(Measurer, CountsNanButExcludesItFromTheSums) {
  Measurer measurer(request(kEveryMeasure));
  TestTensor tensor(Dtype::kFloat32, {2, 3});
  measurer.measure(tensor.fill({1, 1, 1, 1, 1, 1}));
  const loupe_measurement& m = measurer.measure(tensor.fill({3, NAN, 4, -INFINITY, INFINITY, 12}));
  EXPECT_EQ(m.nan_count, 1);
  EXPECT_EQ(m.inf_count, 2);
  EXPECT_EQ(m.sum, 19);
  EXPECT_EQ(m.sum_squares, 169);
  EXPECT_EQ(m.minimum, 3);
  EXPECT_EQ(m.maximum, 12);
  EXPECT_EQ(m.sample_norm_sum, 5 + 12);
  EXPECT_EQ(m.dot_previous, 19);
  EXPECT_EQ(m.change_sum_squares, 4 + 9 + 121);
  EXPECT_EQ(std::accumulate(m.bins, m.bins + m.bin_count, uint64_t{0}), 3u);
}

TEST(Measurer, CountsNanWithEveryMeasure) {
  for (uint32_t bit = 1; bit <= LOUPE_MEASURE_HISTOGRAM; bit <<= 1) {
    Measurer measurer(request(bit));
    TestTensor tensor(Dtype::kFloat32, {3});
    const loupe_measurement& m = measurer.measure(tensor.fill({1, NAN, INFINITY}));
    EXPECT_EQ(m.nan_count, 1);
    EXPECT_EQ(m.inf_count, 1);
  }
}

TEST(Measurer, HasNoExtremesWithoutFiniteElements) {
  Measurer measurer(request(LOUPE_MEASURE_EXTREMES));
  TestTensor tensor(Dtype::kFloat64, {2});
  const loupe_measurement& m = measurer.measure(tensor.fill({NAN, INFINITY}));
  EXPECT_TRUE(std::isnan(m.minimum));
  EXPECT_TRUE(std::isnan(m.maximum));
}

/// Compares events in which some elements are replaced by `odd`, or all are scaled by it if `scaled`.
void check(Dtype dtype, double odd, bool scaled) {
  Measurer measurer(request(kEveryMeasure));
  Reference reference(1, 0);
  for (unsigned event = 0; event < 5; ++event) {
    SCOPED_TRACE(testing::Message() << "dtype " << dtype << ", " << odd << ", event " << event);
    TestTensor tensor(dtype, {3, 1700});
    tensor.fill_random(event);
    std::vector<double> values = tensor.values();
    for (size_t i = 0; i < values.size(); ++i) {
      if (scaled && event != 1) values[i] *= odd;
      if (!scaled && (event == 1 || event == 2) && i % (1000 + event) == 7) values[i] = odd;
    }
    tensor.fill(values);
    expect_same(measurer.measure(tensor), reference, reference.measure(tensor));
  }
}

TEST(Measurer, MeasuresFiniteElementsBesideOthers) {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat64, Dtype::kFloat16, Dtype::kBFloat16}) {
    for (const double odd : {double{NAN}, double{INFINITY}, -double{INFINITY}}) check(dtype, odd, false);
  }
}

TEST(Measurer, MeasuresNumbersWhoseSquaresOverflowFloats) {
  for (const double scale : {1e18, 1e20, 1e30, 3e38}) {
    check(Dtype::kFloat32, scale, true);
    check(Dtype::kBFloat16, scale, true);
  }
  check(Dtype::kFloat32, 2e38, false);
}

TEST(Measurer, MeasuresNumbersWhoseSquaresAreTooSmallForFloats) {
  for (const double scale : {1e-14, 1e-16, 1e-19, 1e-23, 1e-30, 1e-37}) {
    check(Dtype::kFloat32, scale, true);
    check(Dtype::kBFloat16, scale, true);
  }
}

TEST(Measurer, MeasuresSmallChangesOfLargeNumbers) {
  Measurer measurer(request(kEveryMeasure));
  TestTensor tensor(Dtype::kFloat32, {2, 1});
  measurer.measure(tensor.fill({1, 0}));
  measurer.measure(tensor.fill({1, 1e-22}));
  const loupe_measurement& m = measurer.measure(tensor.fill({1, 3e-22}));
  EXPECT_NEAR(m.change_sum_squares, 4e-44, 1e-49);
  EXPECT_NEAR(m.previous_change_sum_squares, 1e-44, 1e-49);
  EXPECT_NEAR(m.dot_change, 2e-44, 1e-49);
}

TEST(Measurer, MeasuresZerosThatStayZero) {
  Measurer measurer(request(kEveryMeasure));
  const TestTensor tensor(Dtype::kFloat32, {5000});
  TestTensor zeros(Dtype::kFloat32, {5000});
  zeros.fill(std::vector<double>(5000));
  for (int event = 0; event < 3; ++event) {
    const loupe_measurement& m = measurer.measure(zeros);
    EXPECT_EQ(m.sum_squares, 0);
    EXPECT_EQ(m.change_sum_squares, 0);
    EXPECT_EQ(m.bins[80], 5000u);
  }
}

const float zeros[2] = {0, 0}, tiny[2] = {1e-25F, 0};
constexpr unsigned all_terms = kDot | kChange | kDotChange;

bool is_trusted(const Sums& sums, const float* x, const float* last, unsigned terms = all_terms, bool squares = true) {
  return trustworthy<float>(sums, terms, squares, x, last, 2);
}
Sums of_order_one() {
  Sums sums{};
  sums.squares = sums.dot = sums.change_squares = sums.dot_change = 1;
  return sums;
}

TEST(Trustworthy, IsFalseForASumThatIsNotFinite) {
  EXPECT_TRUE(is_trusted(of_order_one(), zeros, zeros));
  for (double Sums::*term : {&Sums::squares, &Sums::dot, &Sums::change_squares, &Sums::dot_change}) {
    for (const double odd : {double{NAN}, double{INFINITY}, -double{INFINITY}}) {
      Sums sums = of_order_one();
      sums.*term = odd;
      EXPECT_FALSE(is_trusted(sums, zeros, zeros)) << odd;
    }
  }
  Sums negative = of_order_one();
  negative.dot = negative.dot_change = -1;
  EXPECT_TRUE(is_trusted(negative, zeros, zeros));
}

TEST(Trustworthy, IsTrueForASmallSumOfSquaresOnlyIfAllAreZero) {
  Sums sums = of_order_one();
  sums.squares = 0;
  EXPECT_TRUE(is_trusted(sums, zeros, zeros));
  EXPECT_FALSE(is_trusted(sums, tiny, zeros)) << "its square underflows in a float";
  const float negative[2] = {0, -1e-25F};
  EXPECT_FALSE(is_trusted(sums, negative, zeros));
  EXPECT_TRUE(is_trusted(sums, tiny, zeros, all_terms, false)) << "the request has no squares";
}

TEST(Trustworthy, IsTrueForASmallSumOfChangesIfNothingChanged) {
  Sums sums = of_order_one();
  sums.change_squares = 0;
  EXPECT_TRUE(is_trusted(sums, tiny, tiny));
  EXPECT_FALSE(is_trusted(sums, tiny, zeros));
  EXPECT_TRUE(is_trusted(sums, tiny, zeros, kDot)) << "the request has no change";
}

TEST(SummedCarefully, ExcludesProductsWithAFactorThatIsNotFinite) {
  const float x[4] = {NAN, 2, 3, 4}, last[4] = {1, INFINITY, 1, 2}, older[4] = {1, 1, NAN, 1};
  const CarefulSums<float> careful = sum_carefully<float>(all_terms, x, last, older, 4);
  EXPECT_EQ(careful.nan_count, 1);
  EXPECT_EQ(careful.inf_count, 0);
  EXPECT_EQ(careful.sums.squares, 4 + 9 + 16);
  EXPECT_EQ(careful.sums.dot, 3 * 1 + 4 * 2);
  EXPECT_EQ(careful.sums.change_squares, 4 + 4);
  EXPECT_EQ(careful.sums.dot_change, 2 * 1) << "only of the last element";
  EXPECT_EQ(careful.range.minimum, 2);
  EXPECT_EQ(careful.range.maximum, 4);
}

}  // namespace
}  // namespace loupe::measure
