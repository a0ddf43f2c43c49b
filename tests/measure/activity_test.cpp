#include <gtest/gtest.h>

#include <cmath>

#include "measure/measurer.h"
#include "tensor.h"

namespace loupe::measure {
namespace {

loupe_measurement measure_activity(const TestTensor& tensor, double epsilon = 0) {
  static Measurer measurer(request(0));
  measurer = Measurer(request(LOUPE_MEASURE_ACTIVITY, 1, epsilon));
  return measurer.measure(tensor);
}

/// Zeros, except for one element at this position in row-major order.
std::vector<double> all_but_one_zero(int64_t numel, int64_t position, double value = 1) {
  std::vector<double> values(static_cast<size_t>(numel));
  values[static_cast<size_t>(position)] = value;
  return values;
}

TEST(Activity, FindsTheOnlyLiveUnit) {
  const std::vector<std::vector<int64_t>> shapes = {{1, 1},       {1, 70},      {70, 3},      {9, 257},  {3, 7, 2, 2},
                                                    {2, 5, 8, 8}, {2, 3, 9, 9}, {3, 2, 5000}, {60, 5000}};
  for (const auto& sizes : shapes) {
    TestTensor tensor(Dtype::kFloat32, sizes);
    const int64_t numel = tensor.view().numel;
    for (int64_t position = 0; position < numel; position += 1 + numel / 50) {
      const loupe_measurement& m = measure_activity(tensor.fill(all_but_one_zero(numel, position)));
      EXPECT_EQ(m.active_count, 1);
      EXPECT_EQ(m.unit_count, sizes[1]);
      EXPECT_EQ(m.dead_unit_count, sizes[1] - 1);
    }
  }
}

TEST(Activity, FindsTheOnlyDeadUnit) {
  for (const bool last : {false, true}) {
    const std::vector<int64_t> sizes = {5, 13, 20, 20};
    TestTensor tensor(Dtype::kFloat32, sizes, last ? channels_last(sizes) : row_major(sizes));
    std::vector<double> values(static_cast<size_t>(tensor.view().numel), 1);
    for (size_t i = 0; i < values.size(); ++i) {
      if (i / 400 % 13 == 8) values[i] = 0;
    }
    const loupe_measurement& m = measure_activity(tensor.fill(values));
    EXPECT_EQ(m.dead_unit_count, 1);
    EXPECT_EQ(m.active_count, 5 * 12 * 400);
  }
}

TEST(Activity, ForgetsThePreviousEvent) {
  Measurer measurer(request(LOUPE_MEASURE_ACTIVITY));
  TestTensor tensor(Dtype::kFloat32, {8, 30});
  measurer.measure(tensor.fill_random(1));
  EXPECT_EQ(measurer.measure(tensor.fill(std::vector<double>(240))).dead_unit_count, 30);
}

TEST(Activity, CountsNanAndInfAsActive) {
  TestTensor tensor(Dtype::kFloat32, {1, 40});
  EXPECT_EQ(measure_activity(tensor.fill(all_but_one_zero(40, 3, NAN))).active_count, 1);
  EXPECT_EQ(measure_activity(tensor.fill(all_but_one_zero(40, 39, -INFINITY))).dead_unit_count, 39);
  EXPECT_EQ(measure_activity(tensor.fill(std::vector<double>(40, NAN)), 1e300).active_count, 40);
}

TEST(Activity, ComparesWithEpsilonExactly) {
  const float tenth = 0.1f;  // a little more than 0.1
  TestTensor tensor(Dtype::kFloat32, {1, 2});
  EXPECT_EQ(measure_activity(tensor.fill({tenth, -tenth}), 0.1).active_count, 2);
  EXPECT_EQ(measure_activity(tensor, static_cast<double>(tenth)).active_count, 0);
  TestTensor fifth(Dtype::kFloat32, {1, 1});
  EXPECT_EQ(measure_activity(fifth.fill({0.7f}), 0.7).active_count, 0);  // 0.7f is a little less
}

}  // namespace
}  // namespace loupe::measure
