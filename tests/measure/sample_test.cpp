#include "measure/history.h"

#include <gtest/gtest.h>
#include <loupe/event.h>

#include <cmath>
#include <limits>

#include "measure/measurer.h"
#include "tensor.h"

namespace loupe::measure {
namespace {

constexpr uint32_t kAllHistory = LOUPE_MEASURE_PREVIOUS | LOUPE_MEASURE_CHANGE | LOUPE_MEASURE_CHANGE_PREVIOUS;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Sample, HasOneRunInEachOfManyEqualParts) {
  for (const int64_t numel : {65537 + 64, 131072, 1000003, 2359296, 123456789}) {
    const Sample sample(numel, 65536);
    ASSERT_FALSE(sample.is_whole()) << numel;
    EXPECT_EQ(sample.size(), 65536);
    const double part = static_cast<double>(numel / Sample::kRun) / static_cast<double>(sample.runs());
    int64_t at_begin = 0;
    for (int64_t run = 0; run < sample.runs(); ++run) {
      const int64_t place = sample.place(run);
      ASSERT_EQ(place % Sample::kRun, 0);
      ASSERT_LE(place + Sample::kRun, numel);
      const double block = static_cast<double>(place / Sample::kRun);
      ASSERT_GE(block + 1, static_cast<double>(run) * part);
      ASSERT_LT(block, static_cast<double>(run + 1) * part);
      at_begin += block < (static_cast<double>(run) + 0.5) * part ? 1 : 0;
      ASSERT_EQ(sample.first_run_from(place), run);
      ASSERT_EQ(sample.first_run_from(place + 1), run + 1);
    }
    EXPECT_EQ(sample.first_run_from(0), 0);
    if (part > 8) {
      EXPECT_NEAR(static_cast<double>(at_begin), 512, 100) << "runs are spread over their parts";
    }
  }
}

TEST(Sample, IsWholeForATensorThatIsNotMuchLarger) {
  EXPECT_TRUE(Sample(0, 65536).is_whole());
  EXPECT_TRUE(Sample(65536, 65536).is_whole());
  EXPECT_TRUE(Sample(65537, 65536).is_whole());
  EXPECT_EQ(Sample(65537, 65536).size(), 65537);
  EXPECT_TRUE(Sample(int64_t{1} << 40, Measurer::kWholeHistory).is_whole());
}

/// Fills a tensor with numbers like a gradient's: rows of different magnitudes, with a partly common direction.
TestTensor& fill_like_a_gradient(TestTensor& tensor, unsigned step) {
  const std::vector<double> common = TestTensor(Dtype::kFloat64, {tensor.view().numel}).fill_random(1).values();
  std::vector<double> values = TestTensor(Dtype::kFloat64, {tensor.view().numel}).fill_random(100 + step).values();
  const size_t row = values.size() / 256;
  for (size_t i = 0; i < values.size(); ++i) {
    const double size = std::exp(2 * std::sin(static_cast<double>(i / row) * 12.9898));
    const double own = values[i] * values[i] * values[i];  // heavier tails than a normal distribution
    values[i] = size * (own + 0.3 * common[i]);
  }
  return tensor.fill(values);
}

double correlation(double dot, double squares, double other) {
  return dot / std::sqrt(squares * other);
}

/// Compares two numbers with a tolerance for the order of summation.
void expect_same(double told, double exact) {
  EXPECT_NEAR(told, exact, 1e-6 * std::abs(exact));
}

TEST(SampledMeasurer, EstimatesWhatComparesAndMeasuresTheRestAsItIs) {
  const std::vector<int64_t> sizes = {256, 256, 3, 3};
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat64, Dtype::kBFloat16}) {
    for (const auto& strides : {row_major(sizes), channels_last(sizes), std::vector<int64_t>{2400, 9, 3, 1}}) {
      Measurer whole(request(kEveryMeasure)), sampled(request(kEveryMeasure), 65536);
      for (unsigned step = 0; step < 4; ++step) {
        SCOPED_TRACE(testing::Message() << dtype << ", strides " << strides[0] << ", step " << step);
        TestTensor tensor(dtype, sizes, strides);
        fill_like_a_gradient(tensor, step);
        const loupe_measurement exact = whole.measure(tensor), told = sampled.measure(tensor);
        EXPECT_EQ(exact.flags & LOUPE_MEASUREMENT_SAMPLED, 0u);
        EXPECT_EQ((told.flags & LOUPE_MEASUREMENT_SAMPLED) != 0, step > 0);
        EXPECT_NEAR(told.sum, exact.sum, 1e-2);
        expect_same(told.sum_squares, exact.sum_squares);
        expect_same(told.sample_norm_sum, exact.sample_norm_sum);
        EXPECT_EQ(told.maximum, exact.maximum);
        EXPECT_EQ(told.active_count, exact.active_count);
        expect_same(told.previous_sum_squares, exact.previous_sum_squares);
        if (step == 0) continue;
        EXPECT_NEAR(std::sqrt(told.change_sum_squares / exact.change_sum_squares), 1, 0.01);
        EXPECT_NEAR(correlation(told.dot_previous, told.sum_squares, told.previous_sum_squares),
                    correlation(exact.dot_previous, exact.sum_squares, exact.previous_sum_squares), 0.01);
        if (step == 1) continue;
        EXPECT_NEAR(correlation(told.dot_change, told.change_sum_squares, told.previous_change_sum_squares),
                    correlation(exact.dot_change, exact.change_sum_squares, exact.previous_change_sum_squares), 0.01);
      }
    }
  }
}

TEST(SampledMeasurer, HoldsNoMoreThanTheSamples) {
  Measurer measurer(request(kAllHistory), 65536);
  TestTensor tensor(Dtype::kFloat32, {3000000});
  for (unsigned step = 0; step < 3; ++step) measurer.measure(tensor.fill_random(step));
  EXPECT_LT(measurer.bytes(), 2 * 65536 * sizeof(float) + 10000);
}

TEST(SampledMeasurer, ComparesAPrimedValue) {
  for (const auto& strides : {row_major({700, 300}), std::vector<int64_t>{1, 700}, std::vector<int64_t>{301, 1}}) {
    Measurer measurer(request(kAllHistory), 65536);
    TestTensor tensor(Dtype::kFloat32, {700, 300}, strides);
    measurer.prime(tensor.fill(std::vector<double>(210000, 1)));
    const loupe_measurement m = measurer.measure(tensor.fill(std::vector<double>(210000, 1.5)));
    EXPECT_TRUE(has_change(m));
    EXPECT_FALSE(has_previous(m));
    EXPECT_DOUBLE_EQ(m.change_sum_squares, 210000 * 0.25);
  }
}

TEST(SampledMeasurer, ForgetsTheSampleIfTheOrderInMemoryChanges) {
  Measurer measurer(request(kAllHistory), 65536);
  const std::vector<int64_t> sizes = {64, 64, 6, 6};
  TestTensor rows(Dtype::kFloat32, sizes), channels(Dtype::kFloat32, sizes, channels_last(sizes));
  measurer.measure(rows.fill_random(1));
  loupe_measurement m = measurer.measure(channels.fill_random(1));
  EXPECT_FALSE(has_change(m)) << "the same places hold other elements";
  EXPECT_EQ(m.flags & LOUPE_MEASUREMENT_SAMPLED, 0u);
  m = measurer.measure(channels.fill_random(2));
  EXPECT_TRUE(has_change(m));
}

TEST(SampledMeasurer, ExcludesPairsThatAreNotFinite) {
  Measurer measurer(request(kAllHistory), 65536);
  TestTensor tensor(Dtype::kFloat32, {200000});
  std::vector<double> values(200000, 2);
  measurer.measure(tensor.fill(values));
  for (size_t i = 0; i < values.size(); i += 2) values[i] = kNan;
  for (size_t i = 1; i < values.size(); i += 2) values[i] = 3;
  const loupe_measurement m = measurer.measure(tensor.fill(values));
  EXPECT_EQ(m.nan_count, 100000);
  EXPECT_DOUBLE_EQ(m.sum_squares, 900000);
  EXPECT_DOUBLE_EQ(m.change_sum_squares, 100000);
}

TEST(SampledMeasurer, ComparesNumbersWhoseSquaresUnderflowInFloats) {
  Measurer whole(request(kAllHistory)), sampled(request(kAllHistory), 65536);
  TestTensor tensor(Dtype::kFloat32, {200000});
  loupe_measurement exact = {}, told = {};
  for (unsigned step = 0; step < 3; ++step) {
    tensor.fill_random(step, 1e-25);
    exact = whole.measure(tensor);
    told = sampled.measure(tensor);
  }
  EXPECT_GT(exact.change_sum_squares, 0);
  EXPECT_NEAR(std::sqrt(told.change_sum_squares / exact.change_sum_squares), 1, 0.01);
  EXPECT_NEAR(correlation(told.dot_change, told.change_sum_squares, told.previous_change_sum_squares), -0.5, 0.02);
}

}  // namespace
}  // namespace loupe::measure
