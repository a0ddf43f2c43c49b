#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "allocations.h"
#include "measure/measurer.h"
#include "tensor.h"

namespace loupe::measure {
namespace {

TEST(Measurer, AllocatesNothingAfterTheLargestTensor) {
  for (const Dtype dtype : kEveryDtype) {
    Measurer measurer(request(kEveryMeasure));
    TestTensor large(dtype, {3, 50, 1000});
    TestTensor small(dtype, {20, 30});
    TestTensor sliced(dtype, {20, 30}, {70, 2});
    TestTensor transposed(dtype, {20, 30}, {1, 20});
    measurer.measure(large.fill_random(1));
    measurer.measure(large);
    measurer.measure(transposed.fill_random(1));
    small.fill_random(1);
    sliced.fill_random(2);
    const size_t held = measurer.bytes();
    const int before = allocations();
    for (int event = 0; event < 3; ++event) measurer.measure(large);
    for (int event = 0; event < 3; ++event) measurer.measure(small);
    for (int event = 0; event < 3; ++event) measurer.measure(sliced);
    measurer.prime(small);
    measurer.measure(large);
    EXPECT_EQ(allocations(), before) << "dtype " << dtype;
    EXPECT_EQ(measurer.bytes(), held);
  }
}

TEST(Measurer, ReportsTheMemoryItHolds) {
  const TestTensor tensor(Dtype::kFloat32, {1000, 1000});
  const auto held = [&](uint32_t measures) {
    Measurer measurer(request(measures));
    measurer.measure(tensor);
    measurer.measure(tensor);
    return measurer.bytes();
  };
  EXPECT_LT(held(LOUPE_MEASURE_SUMS), 10'000u);
  EXPECT_NEAR(static_cast<double>(held(LOUPE_MEASURE_PREVIOUS | LOUPE_MEASURE_CHANGE)), 4e6, 1e4);
  EXPECT_NEAR(static_cast<double>(held(LOUPE_MEASURE_PREVIOUS | LOUPE_MEASURE_CHANGE_PREVIOUS)), 8e6, 1e4);
}

std::atomic<int> parallel_calls = 0;

/// Runs the parts in three threads, which take turns.
void three_threads(int64_t begin, int64_t end, int64_t grain, ParallelBody body, void* context) {
  ++parallel_calls;
  std::vector<std::thread> threads;
  for (int64_t thread = 0; thread < 3; ++thread) {
    threads.emplace_back([=] {
      for (int64_t at = begin + (2 - thread) * grain; at < end; at += 3 * grain) {
        body(context, at, std::min(at + grain, end));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void expect_identical(const loupe_measurement& a, const loupe_measurement& b) {
  EXPECT_EQ(a.nan_count, b.nan_count);
  EXPECT_EQ(a.inf_count, b.inf_count);
  EXPECT_EQ(a.sum, b.sum);
  EXPECT_EQ(a.sum_squares, b.sum_squares);
  EXPECT_EQ(a.minimum, b.minimum);
  EXPECT_EQ(a.maximum, b.maximum);
  EXPECT_EQ(a.active_count, b.active_count);
  EXPECT_EQ(a.dead_unit_count, b.dead_unit_count);
  EXPECT_EQ(a.sample_norm_sum, b.sample_norm_sum);
  EXPECT_EQ(a.dot_previous, b.dot_previous);
  EXPECT_EQ(a.change_sum_squares, b.change_sum_squares);
  EXPECT_EQ(a.dot_change, b.dot_change);
  EXPECT_EQ(a.previous_change_sum_squares, b.previous_change_sum_squares);
  EXPECT_TRUE(std::equal(a.bins, a.bins + a.bin_count, b.bins, b.bins + b.bin_count));
}

TEST(Measurer, MeasuresTheSameWithThreads) {
  const std::vector<std::vector<int64_t>> shapes = {{700, 999}, {3, 7, 300, 111}, {2, 1, 400000}, {700000}};
  for (const auto& sizes : shapes) {
    for (const bool sliced : {false, true}) {
      Measurer serial(request(kEveryMeasure, 1, 0.999));
      Measurer parallel(request(kEveryMeasure, 1, 0.999));
      for (unsigned event = 0; event < 3; ++event) {
        std::vector<int64_t> strides = row_major(sizes);
        if (sliced) strides[0] += 5;
        TestTensor tensor(Dtype::kFloat32, sizes, strides);
        tensor.fill_random(event);
        const int before = parallel_calls;
        const loupe_measurement& expected = serial.measure(tensor);
        EXPECT_EQ(parallel_calls, before);
        Measurer::set_parallel_for(three_threads);
        expect_identical(parallel.measure(tensor), expected);
        Measurer::set_parallel_for(nullptr);
        EXPECT_EQ(parallel_calls, before + 1);
      }
    }
  }
}

TEST(Measurer, AsksForNoThreadsForSmallTensors) {
  Measurer measurer(request(kEveryMeasure));
  const TestTensor tensor(Dtype::kFloat32, {200, 1000});
  Measurer::set_parallel_for(three_threads);
  const int before = parallel_calls;
  measurer.measure(tensor);
  Measurer::set_parallel_for(nullptr);
  EXPECT_EQ(parallel_calls, before);
}

}  // namespace
}  // namespace loupe::measure
