// The measurer for devices runs on any device. Here it runs on the host and is compared with the host's kernels.

#include "services/device_measurer.h"

#include <ATen/record_function.h>
#include <gtest/gtest.h>
#include <loupe/event.h>
#include <loupe/preprocessor.h>

#include <limits>
#include <set>

#include "measure/measurer.h"
#include "torch/tensor/tensor_view.h"

using namespace loupe;

namespace {

constexpr uint32_t everything = measure::kEveryMeasure;

constexpr int64_t whole = measure::Measurer::kWholeHistory;

loupe_request request_of(uint32_t measures) {
  loupe_request request{.struct_size = sizeof(loupe_request)};
  Request().write(request);
  request.measures = measures;
  return request;
}

void expect_close(double actual, double expected, const char* what) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(actual)) << what;
  } else {
    EXPECT_NEAR(actual, expected, 1e-4 * std::max(1.0, std::abs(expected))) << what;
  }
}

void expect_same(const loupe_measurement& device, const loupe_measurement& host) {
  EXPECT_EQ(device.measures, host.measures);
  EXPECT_EQ(device.numel, host.numel);
  EXPECT_EQ(device.nan_count, host.nan_count);
  EXPECT_EQ(device.inf_count, host.inf_count);
  expect_close(device.sum, host.sum, "sum");
  expect_close(device.sum_squares, host.sum_squares, "sum_squares");
  expect_close(device.minimum, host.minimum, "minimum");
  expect_close(device.maximum, host.maximum, "maximum");
  EXPECT_EQ(device.active_count, host.active_count);
  EXPECT_EQ(device.unit_count, host.unit_count);
  EXPECT_EQ(device.dead_unit_count, host.dead_unit_count);
  EXPECT_EQ(device.sample_count, host.sample_count);
  expect_close(device.sample_norm_sum, host.sample_norm_sum, "sample_norm_sum");
  EXPECT_EQ(has_previous(device), has_previous(host));
  expect_close(device.dot_previous, host.dot_previous, "dot_previous");
  expect_close(device.previous_sum_squares, host.previous_sum_squares, "previous_sum_squares");
  EXPECT_EQ(has_change(device), has_change(host));
  expect_close(device.change_sum_squares, host.change_sum_squares, "change_sum_squares");
  expect_close(device.dot_change, host.dot_change, "dot_change");
  expect_close(device.previous_change_sum_squares, host.previous_change_sum_squares, "previous_change_sum_squares");
  EXPECT_EQ(device.flags, host.flags);
  ASSERT_EQ(device.bin_count, host.bin_count);
  EXPECT_EQ(device.bin_edges, host.bin_edges);
  for (size_t i = 0; i < device.bin_count; ++i) EXPECT_EQ(device.bins[i], host.bins[i]) << "bin " << i;
}

/// Gives the events to both measurers and compares the results of each event.
void compare(const std::vector<torch::Tensor>& events, const torch::Tensor& primed = {}, int64_t history = whole) {
  const auto device = make_device_measurer(request_of(everything), history);
  measure::Measurer host(request_of(everything), history);
  std::vector<loupe_measurement> expected;
  std::vector<std::vector<uint64_t>> bins;
  if (primed.defined()) {
    const TorchTensorView view(primed);
    device->prime(*view.get());
    host.prime(*view.get());
  }
  for (std::size_t i = 0; i < events.size(); ++i) {
    const TorchTensorView view(events[i]);
    device->measure(*view.get(), 7, i);
    expected.push_back(host.measure(*view.get()));
    bins.emplace_back(expected.back().bins, expected.back().bins + expected.back().bin_count);
  }
  std::size_t seen = 0;
  device->collect([&](const loupe_measurement& measurement, uint32_t flags, uint64_t number) {
    SCOPED_TRACE("event " + std::to_string(number));
    EXPECT_EQ(number, seen);
    EXPECT_EQ(flags, 7U);
    expected[seen].bins = bins[seen].data();
    expect_same(measurement, expected[seen++]);
  });
  EXPECT_EQ(seen, events.size());
}

}  // namespace

TEST(DeviceMeasurer, AgreesWithTheKernelsOnEveryMeasure) {
  torch::manual_seed(1);
  std::vector<torch::Tensor> events;
  for (int i = 0; i < 4; ++i) events.push_back(torch::relu(torch::randn({6, 5, 3})));
  events[1].select(1, 2).zero_();
  compare(events);
  compare(events, torch::randn({6, 5, 3}));
}

TEST(DeviceMeasurer, AgreesOnShapesTypesAndWhatIsNotFinite) {
  torch::manual_seed(2);
  compare({torch::randn({4, 3}), torch::randn({2, 3}), torch::randn({4, 3})});
  compare({torch::tensor(2.5), torch::tensor(0.0)});
  compare({torch::randn({3, 4}).to(torch::kHalf), torch::randn({3, 4}).to(torch::kHalf)});
  compare({torch::randn({8, 4, 5}).transpose(1, 2)});
  auto spoilt = torch::randn({4, 3});
  spoilt[0][0] = std::numeric_limits<float>::quiet_NaN();
  spoilt[1][1] = -std::numeric_limits<float>::infinity();
  compare({torch::randn({4, 3}), spoilt, torch::randn({4, 3})});
}

TEST(DeviceMeasurer, EstimatesFromTheSameElementsAsTheKernels) {
  torch::manual_seed(4);
  std::vector<torch::Tensor> events{torch::randn({100, 97})};
  for (int i = 0; i < 3; ++i) events.push_back(events.back() + 0.1 * torch::randn({100, 97}));
  compare(events, {}, 640);
  compare(events, torch::randn({100, 97}), 640);
  for (int i = 0; i < 2; ++i)
    events.push_back(torch::randn({90, 97}));  // the same number of elements is compared, in a different size
  compare(events, {}, 640);
  events[1][3][4] = std::numeric_limits<float>::quiet_NaN();
  compare(events, {}, 640);
}

TEST(DeviceMeasurer, NamesAlsoTheMeasuresThatARequestImplies) {
  const torch::Tensor tensor = torch::randn({4, 3});
  const TorchTensorView view(tensor);
  for (const measure::Measure& each : measure::kMeasures) {
    const auto device = make_device_measurer(request_of(each.bit), whole);
    device->measure(*view.get(), 0, 0);
    device->collect([&](const loupe_measurement& measured, uint32_t, uint64_t) {
      EXPECT_EQ(measured.measures, each.bit | each.implied);
    });
  }
}

TEST(DeviceMeasurer, KeepsManyEventsAndGoesOnAfterACollect) {
  torch::manual_seed(3);
  std::vector<torch::Tensor> events;
  for (int i = 0; i < 600; ++i) events.push_back(torch::randn({7}));
  compare(events);
  const auto device = make_device_measurer(request_of(LOUPE_MEASURE_PREVIOUS), whole);
  std::vector<int64_t> has_previous;
  for (int tick = 0; tick < 2; ++tick) {
    const TorchTensorView view(events[0]);
    device->measure(*view.get(), 0, 0);
    device->collect(
        [&](const loupe_measurement& m, uint32_t, uint64_t) { has_previous.push_back(loupe::has_previous(m)); });
  }
  EXPECT_EQ(has_previous, (std::vector<int64_t>{0, 1}));
}

TEST(DeviceMeasurer, CallsNothingThatWaitsForADevice) {
  static std::set<std::string> called;
  called.clear();
  const auto handle = at::addGlobalCallback(at::RecordFunctionCallback([](const at::RecordFunction& function) {
                                              called.insert(function.name());
                                              return std::unique_ptr<at::ObserverContext>();
                                            }).scopes({at::RecordScope::FUNCTION}));
  const auto tensor = torch::randn({6, 5, 30});
  const TorchTensorView view(tensor);
  for (const int64_t history : {whole, int64_t{128}}) {
    const auto device = make_device_measurer(request_of(everything), history);
    for (int i = 0; i < 3; ++i) device->measure(*view.get(), 0, 0);
  }
  at::removeCallback(handle);
  EXPECT_GT(called.count("aten::copy_"), 0U) << "the callback sees operators";
  for (const char* waits :
       {"aten::item", "aten::_local_scalar_dense", "aten::nonzero", "aten::is_nonzero", "aten::equal", "aten::bincount",
        "aten::unique", "aten::masked_select", "aten::index", "aten::cpu"}) {
    EXPECT_EQ(called.count(waits), 0U) << waits;
  }
}
