#include "measure/histogram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "measure/measurer.h"
#include "tensor.h"

namespace loupe::measure {
namespace {

/// The index of the bin that counts a single element; -1 if no bin does.
int bin_of(Dtype dtype, double value) {
  Measurer measurer(request(LOUPE_MEASURE_HISTOGRAM));
  TestTensor tensor(dtype, {1});
  const loupe_measurement m = measurer.measure(tensor.fill({value}));
  for (size_t bin = 0; bin < m.bin_count; ++bin) {
    if (m.bins[bin] == 1) return static_cast<int>(bin);
  }
  return -1;
}

TEST(Histogram, HasEdgesThatAscendFromInfinityToInfinity) {
  Measurer measurer(request(LOUPE_MEASURE_HISTOGRAM));
  TestTensor tensor(Dtype::kFloat32, {1});
  const loupe_measurement m = measurer.measure(tensor.fill({1}));
  ASSERT_EQ(m.bin_count, 161u);
  for (size_t edge = 0; edge < m.bin_count; ++edge) EXPECT_LT(m.bin_edges[edge], m.bin_edges[edge + 1]) << edge;
  EXPECT_EQ(m.bin_edges[0], -INFINITY);
  EXPECT_EQ(m.bin_edges[161], INFINITY);
}

TEST(Histogram, CountsEachElementBetweenTheEdgesOfItsBin) {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat64}) {
    for (int exponent = -126; exponent <= 127; ++exponent) {
      for (const double significand : {1.0, 1.5, -1.0, -1.5}) {
        const double value = std::ldexp(significand, exponent);
        const int bin = bin_of(dtype, value);
        ASSERT_GE(bin, 0) << value;
        EXPECT_LE(histogram_edges()[bin], value);
        EXPECT_GE(histogram_edges()[bin + 1], value);
        EXPECT_NE(bin, 80) << value;
      }
    }
  }
}

TEST(Histogram, DistinguishesPowersOfTwo) {
  for (int exponent = -40; exponent < 39; ++exponent) {
    const double value = std::ldexp(1.0, exponent);
    EXPECT_EQ(bin_of(Dtype::kFloat32, 2 * value), bin_of(Dtype::kFloat32, value) + 1) << value;
    EXPECT_EQ(bin_of(Dtype::kFloat32, -2 * value), bin_of(Dtype::kFloat32, -value) - 1) << value;
  }
}

TEST(Histogram, HasOneBinForZerosAndSubnormalFloats) {
  for (const double value : {0.0, -0.0, 1e-39, -1e-39}) EXPECT_EQ(bin_of(Dtype::kFloat32, value), 80) << value;
  for (const double value : {0.0, 1e-39, -1e-300, 5e-324}) EXPECT_EQ(bin_of(Dtype::kFloat64, value), 80) << value;
}

TEST(Histogram, HasNoBinForValuesThatAreNotFinite) {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat64, Dtype::kFloat16, Dtype::kBFloat16}) {
    for (const double value : {double{NAN}, double{INFINITY}, -double{INFINITY}}) EXPECT_EQ(bin_of(dtype, value), -1);
  }
}

TEST(Histogram, CountsEveryFiniteElementOfManyChunks) {
  Measurer measurer(request(LOUPE_MEASURE_HISTOGRAM));
  TestTensor tensor(Dtype::kFloat32, {500'000});
  const loupe_measurement m = measurer.measure(tensor.fill_random(3));
  EXPECT_EQ(std::accumulate(m.bins, m.bins + m.bin_count, uint64_t{0}), 500'000u);
}

}  // namespace
}  // namespace loupe::measure
