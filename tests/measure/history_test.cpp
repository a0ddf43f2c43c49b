#include <gtest/gtest.h>
#include <loupe/event.h>

#include "measure/measurer.h"
#include "reference.h"
#include "tensor.h"

namespace loupe::measure {
namespace {

constexpr uint32_t kAllHistory = LOUPE_MEASURE_PREVIOUS | LOUPE_MEASURE_CHANGE | LOUPE_MEASURE_CHANGE_PREVIOUS;

TEST(Measurer, ComparesWithTheLastTwoEvents) {
  for (const uint32_t measures : {uint32_t{LOUPE_MEASURE_PREVIOUS}, uint32_t{LOUPE_MEASURE_CHANGE},
                                  uint32_t{LOUPE_MEASURE_PREVIOUS | LOUPE_MEASURE_CHANGE},
                                  uint32_t{LOUPE_MEASURE_CHANGE_PREVIOUS}, kAllHistory}) {
    Measurer measurer(request(measures));
    Reference reference(1, 0);
    for (unsigned event = 0; event < 7; ++event) {
      SCOPED_TRACE(testing::Message() << measures << ", event " << event);
      TestTensor tensor(Dtype::kFloat32, {9000});
      tensor.fill_random(event, event + 1);
      expect_same(measurer.measure(tensor), reference, reference.measure(tensor));
    }
  }
}

TEST(Measurer, ComparesTheFirstEventWithNothing) {
  Measurer measurer(request(kAllHistory));
  TestTensor tensor(Dtype::kFloat32, {2});
  loupe_measurement m = measurer.measure(tensor.fill({1, 2}));
  EXPECT_FALSE(has_previous(m));
  EXPECT_FALSE(has_change(m));
  EXPECT_EQ(m.change_sum_squares, 0);
  m = measurer.measure(tensor.fill({2, 4}));
  EXPECT_TRUE(has_previous(m));
  EXPECT_EQ(m.dot_previous, 10);
  EXPECT_EQ(m.previous_sum_squares, 5);
  EXPECT_TRUE(has_change(m));
  EXPECT_EQ(m.change_sum_squares, 5);
  EXPECT_EQ(m.dot_change, 0);
  EXPECT_EQ(m.previous_change_sum_squares, 0);
  m = measurer.measure(tensor.fill({3, 3}));
  EXPECT_EQ(m.change_sum_squares, 2);
  EXPECT_EQ(m.dot_change, -1);
  EXPECT_EQ(m.previous_change_sum_squares, 5);
}

TEST(Measurer, MeasuresARestrictedPartAndComparesNothingAcrossAGap) {
  Measurer measurer(request(kAllHistory | LOUPE_MEASURE_SUMS | LOUPE_MEASURE_EXTREMES));
  TestTensor tensor(Dtype::kFloat32, {2});
  measurer.measure(tensor.fill({1, 1}));
  EXPECT_FALSE(measurer.restrict_to(LOUPE_MEASURE_SUMS));
  loupe_measurement m = measurer.measure(tensor.fill({2, 2}));
  EXPECT_EQ(m.measures, uint32_t{LOUPE_MEASURE_SUMS});
  EXPECT_EQ(m.sum, 4);
  EXPECT_FALSE(has_previous(m));
  EXPECT_FALSE(has_change(m));
  EXPECT_TRUE(measurer.restrict_to(LOUPE_MEASURE_SUMS | LOUPE_MEASURE_CHANGE));
  EXPECT_FALSE(has_change(measurer.measure(tensor.fill({5, 5})))) << "its older value is not used";
  EXPECT_EQ(measurer.measure(tensor.fill({7, 7})).change_sum_squares, 8);
  EXPECT_FALSE(measurer.restrict_to(LOUPE_MEASURE_CHANGE)) << "comparisons continue without a gap";
  EXPECT_EQ(measurer.measure(tensor.fill({8, 8})).change_sum_squares, 2);
  EXPECT_FALSE(measurer.restrict_to(LOUPE_MEASURE_CHANGE | LOUPE_MEASURE_HISTOGRAM)) << "the request has no histogram";
  m = measurer.measure(tensor.fill({8, 9}));
  EXPECT_EQ(m.measures, uint32_t{LOUPE_MEASURE_CHANGE});
  EXPECT_EQ(m.change_sum_squares, 1);
}

TEST(Measurer, UsesAPrimedValueOnlyAsABaseline) {
  Measurer measurer(request(kAllHistory));
  TestTensor tensor(Dtype::kFloat32, {2});
  measurer.measure(tensor.fill({7, 7}));
  measurer.prime(tensor.fill({1, 2}));
  loupe_measurement m = measurer.measure(tensor.fill({2, 4}));
  EXPECT_FALSE(has_previous(m));
  EXPECT_EQ(m.dot_previous, 0);
  EXPECT_EQ(m.previous_sum_squares, 0);
  EXPECT_TRUE(has_change(m));
  EXPECT_EQ(m.change_sum_squares, 5);
  EXPECT_EQ(m.dot_change, 0);
  EXPECT_EQ(m.previous_change_sum_squares, 0);
  m = measurer.measure(tensor.fill({3, 3}));
  EXPECT_TRUE(has_previous(m));
  EXPECT_EQ(m.dot_change, -1);
  EXPECT_EQ(m.previous_change_sum_squares, 5);
}

TEST(Measurer, PrimesWithEveryDtypeAndStrides) {
  for (const Dtype dtype : kEveryDtype) {
    for (const auto& strides : {row_major({40, 90}), std::vector<int64_t>{1, 40}, std::vector<int64_t>{100, 1}}) {
      Measurer measurer(request(kAllHistory));
      Reference reference(1, 0);
      TestTensor tensor(dtype, {40, 90}, strides);
      measurer.prime(tensor.fill_random(9));
      reference.prime(tensor);
      for (unsigned event = 0; event < 2; ++event) {
        tensor.fill_random(event);
        expect_same(measurer.measure(tensor), reference, reference.measure(tensor));
      }
    }
  }
}

TEST(Measurer, ForgetsItsHistoryOnRequest) {
  Measurer measurer(request(kAllHistory));
  TestTensor tensor(Dtype::kFloat32, {2});
  measurer.measure(tensor.fill({1, 2}));
  measurer.forget_history();
  EXPECT_FALSE(has_previous(measurer.measure(tensor)));
  EXPECT_TRUE(has_change(measurer.measure(tensor)));
}

TEST(Measurer, ForgetsItsHistoryIfTheNumberOfElementsOrTheDtypeChanges) {
  Measurer measurer(request(kAllHistory));
  for (const int64_t numel : {10, 5000, 10, 0, 4999, 1}) {
    for (const Dtype dtype : kEveryDtype) {
      TestTensor tensor(dtype, {numel});
      const loupe_measurement& first = measurer.measure(tensor.fill_random(1));
      EXPECT_FALSE(has_previous(first));
      EXPECT_FALSE(has_change(first));
      EXPECT_EQ(first.dot_previous, 0);
      const loupe_measurement& second = measurer.measure(tensor);
      EXPECT_TRUE(has_previous(second));
      EXPECT_EQ(second.change_sum_squares, 0);
      EXPECT_EQ(second.previous_change_sum_squares, 0);
    }
  }
}

TEST(Measurer, PairsUpElementsThatMoveInMemory) {
  const std::vector<int64_t> sizes = {4, 5, 6, 7};
  const std::vector<std::vector<int64_t>> orders = {row_major(sizes),     channels_last(sizes), channels_last(sizes),
                                                    {1, 4, 140, 20},      {400, 80, 10, 1},     row_major(sizes),
                                                    channels_last(sizes), {300, 50, 8, 1},      {1, 4, 140, 20}};
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat64, Dtype::kFloat16}) {
    Measurer measurer(request(kAllHistory));
    Reference reference(1, 0);
    for (unsigned event = 0; event < orders.size(); ++event) {
      SCOPED_TRACE(event);
      TestTensor tensor(dtype, sizes, orders[event]);
      tensor.fill_random(event);
      expect_same(measurer.measure(tensor), reference, reference.measure(tensor));
    }
  }
}

TEST(Measurer, PairsUpTensorsOfDifferentShapesInRowMajorOrder) {
  Measurer measurer(request(kAllHistory));
  Reference reference(1, 0);
  const TestTensor tensors[] = {{Dtype::kFloat32, {6, 8}, {1, 6}},
                                {Dtype::kFloat32, {8, 6}, {1, 8}},
                                {Dtype::kFloat32, {48}},
                                {Dtype::kFloat32, {4, 12}, {1, 4}},
                                {Dtype::kFloat32, {2, 24}, {30, 1}}};
  for (unsigned event = 0; event < 5; ++event) {
    SCOPED_TRACE(event);
    const_cast<TestTensor&>(tensors[event]).fill_random(event);
    expect_same(measurer.measure(tensors[event]), reference, reference.measure(tensors[event]));
  }
}

TEST(Measurer, MeasuresAllMergedRequests) {
  Measurer measurer(request(LOUPE_MEASURE_PREVIOUS, 3, 5));
  const loupe_request activity = request(LOUPE_MEASURE_ACTIVITY, 0, 0.5);
  EXPECT_TRUE(measurer.accepts(activity));
  measurer.merge(activity);
  EXPECT_TRUE(measurer.accepts(activity));
  EXPECT_TRUE(measurer.accepts(request(LOUPE_MEASURE_CHANGE, 7, 7)));
  EXPECT_FALSE(measurer.accepts(request(LOUPE_MEASURE_ACTIVITY, 1, 0.5)));
  EXPECT_FALSE(measurer.accepts(request(LOUPE_MEASURE_ACTIVITY, 0, 0.4)));
  measurer.merge(request(LOUPE_MEASURE_CHANGE, 7, 7));
  TestTensor tensor(Dtype::kFloat32, {2, 3});
  measurer.measure(tensor);
  const loupe_measurement& m = measurer.measure(tensor.fill({0, 0.5, 0.2, 0, 0, 2}));
  EXPECT_EQ(m.unit_count, 2);
  EXPECT_EQ(m.dead_unit_count, 1);
  EXPECT_TRUE(has_previous(m));
  EXPECT_TRUE(has_change(m));
}

TEST(Measurer, RemembersTwoValuesFromTheRequestOn) {
  Measurer measurer(request(LOUPE_MEASURE_PREVIOUS));
  Reference reference(1, 0);
  for (unsigned event = 0; event < 6; ++event) {
    TestTensor tensor(Dtype::kFloat32, {100});
    tensor.fill_random(event);
    const loupe_measurement& expected = reference.measure(tensor);
    if (event == 2) measurer.merge(request(kAllHistory));
    const loupe_measurement& m = measurer.measure(tensor);
    if (event == 2) {
      EXPECT_EQ(m.dot_change, 0);
    } else {
      expect_same(m, reference, expected);
    }
  }
}

}  // namespace
}  // namespace loupe::measure
