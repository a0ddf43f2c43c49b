#include <gtest/gtest.h>

#include <vector>

#include "monitored.h"

namespace loupe {
namespace {

/// What the fake device was asked, over all its measurers.
struct Asked {
  int made = 0, measured = 0, collected = 0, primed = 0, forgotten = 0;
  loupe_request request{};  // of the measurer made last
};
Asked asked;

/// Remembers each tensor's first element, and gives it as the sum when it is collected.
class FakeDevice : public DeviceMeasurer {
 public:
  FakeDevice() { ++asked.made; }
  void prime(const loupe_tensor&) override { ++asked.primed; }
  void forget() override { ++asked.forgotten; }
  void measure(const loupe_tensor& tensor, uint32_t flags, uint64_t number) override {
    ++asked.measured;
    pending_.push_back({*static_cast<const float*>(tensor.data), flags, number});
  }
  void collect(const Deliver& deliver) override {
    ++asked.collected;
    for (const Pending& each : pending_) {
      loupe_measurement measurement{};
      measurement.struct_size = sizeof measurement;
      measurement.measures = LOUPE_MEASURE_SUMS;
      measurement.sum = each.sum;
      deliver(measurement, each.flags, each.number);
    }
    pending_.clear();
  }

 private:
  struct Pending {
    double sum;
    uint32_t flags;
    uint64_t number;
  };
  std::vector<Pending> pending_;
};

class DeviceTest : public testing::Test {
 protected:
  DeviceTest() {
    asked = {};
    set_device_measurer_factory([](const loupe_request& request, int64_t) {
      asked.request = request;
      return std::make_unique<FakeDevice>();
    });
  }
  ~DeviceTest() override { set_device_measurer_factory({}); }
  static void forward(ModuleNode& module, float value, uint32_t flags = training_pass) {
    Monitored::forward(module, {value}, flags, LOUPE_DEVICE_CUDA);
  }
};

TEST_F(DeviceTest, MeasurementsComeAtTheTickInTheOrderOfTheEvents) {
  Monitored it("lenses: [probe_lens]\n");
  const auto layer = it.add("conv");
  for (float i = 1; i <= 3; ++i) forward(*layer, i);
  EXPECT_EQ(it.stage.take_notes("lens.numbers process"), Texts{});
  EXPECT_EQ(asked.collected, 0);
  it.monitor.tick(std::nullopt);
  EXPECT_EQ(it.stage.take_notes("lens.numbers process"),
            (Texts{"lens.numbers process 0", "lens.numbers process 1", "lens.numbers process 2"}));
  EXPECT_EQ(asked.collected, 1);
  EXPECT_EQ(it.shown("conv", "sum"), 3);
  EXPECT_EQ(it.shown("conv", "sum count"), 3);
  EXPECT_EQ(it.shown("conv", "deferred"), 1);
  EXPECT_EQ(it.shown("conv", "tensor"), 0);
  EXPECT_EQ(it.shown("conv", "tap"), LOUPE_TAP_FORWARD);
}

TEST_F(DeviceTest, TwoLensesThatAskTheSameCostOneMeasurement) {
  Monitored it("lenses:\n  - probe_lens\n  - {probe: {id: other}, as: other}\n");
  const auto layer = it.add("conv");
  forward(*layer, 1);
  forward(*layer, 2);
  it.monitor.tick(std::nullopt);
  EXPECT_EQ(asked.made, 1);
  EXPECT_EQ(asked.measured, 2);
  EXPECT_EQ(it.shown("conv", "sum count", "Probe"), 2);
  EXPECT_EQ(it.shown("conv", "sum count", "Probe (other)"), 2);
}

TEST_F(DeviceTest, OneThatLooksAtDevicesAloneSharesTheMeasurementOfOneThatLooksAtBoth) {
  // The one of another group stands between the two, since those of devices alone come last.
  Monitored it(
      "lenses:\n  - probe_lens: {places: device}\n  - {probe: {id: other}, as: other}\n"
      "  - {probe: {id: third, passes: training, measures: [sums, previous]}, as: third}\n");
  const auto layer = it.add("conv");
  forward(*layer, 1);
  it.monitor.tick(std::nullopt);
  EXPECT_EQ(asked.made, 2) << "groups";
  EXPECT_EQ(asked.measured, 2) << "each once";
  EXPECT_EQ(it.shown("conv", "sum count", "Probe"), 1);
  EXPECT_EQ(it.shown("conv", "sum count", "Probe (other)"), 1);
}

TEST_F(DeviceTest, WhatIsUsualIsNotAddedUpButProcessedAtTheTick) {
  Monitored it("lenses: [probe_lens: {rests: [usual]}]\n");
  const auto layer = it.add("conv");
  it.monitor.tick(std::nullopt);
  forward(*layer, 1);
  it.monitor.tick(std::nullopt);
  EXPECT_EQ(it.shown("tally", "events"), 0);
  EXPECT_EQ(it.shown("conv", "sum count"), 1);
}

TEST_F(DeviceTest, ASourceThatRestsIsGivenWhatItLookedAtAndNothingElse) {
  for (const std::string what : {"events", "measures"}) {
    Monitored it("lenses:\n  - probe_lens: {rests: [" + what + ", nothing]}\n  - {probe: {id: other}, as: other}\n");
    const auto layer = it.add("conv");
    forward(*layer, 1);
    it.monitor.tick(std::nullopt);
    EXPECT_EQ(it.shown("conv", "sum count"), 1) << what;
    forward(*layer, 2);
    forward(*layer, 3);
    it.monitor.tick(std::nullopt);
    EXPECT_EQ(it.shown("conv", "sum", "Probe"), 1) << what << ": the last that it was given";
    EXPECT_EQ(it.shown("conv", "sum", "Probe (other)"), 3) << what;
    forward(*layer, 4);
    it.monitor.tick(std::nullopt);
    EXPECT_EQ(it.shown("conv", "sum", "Probe"), 4) << what;
    EXPECT_EQ(it.shown("conv", "sum count", "Probe"), 1) << what;
  }
}

TEST_F(DeviceTest, UnitsAreCountedAsTheLensThatCountsThemAsksWhicheverComesFirst) {
  for (const char* lenses :
       {"[gradient_geometry, parameter_gradient_activation]", "[parameter_gradient_activation, gradient_geometry]"}) {
    Monitored it(std::string("lenses: ") + lenses + "\n");
    const auto layer = it.add("conv");
    const FloatTensor gradient({1, 2}, LOUPE_DEVICE_CUDA);
    Stream* stream = layer->stream(LOUPE_TAP_PARAMETER_GRADIENT, "weight");
    ASSERT_NE(stream, nullptr);
    stream->dispatch(gradient.get(), training_pass);
    EXPECT_NE(asked.request.measures & LOUPE_MEASURE_ACTIVITY, 0u);
    EXPECT_NE(asked.request.measures & LOUPE_MEASURE_PREVIOUS, 0u);
    EXPECT_EQ(asked.request.unit_dimension, 0) << lenses;
  }
}

TEST_F(DeviceTest, EachPreprocessorGetsThePassesItAskedFor) {
  Monitored it("lenses:\n  - probe_lens: {passes: training}\n  - {probe: {id: other}, as: other}\n");
  const auto layer = it.add("conv");
  forward(*layer, 1);
  forward(*layer, 2, 0);
  it.monitor.tick(std::nullopt);
  EXPECT_EQ(it.shown("conv", "sum count", "Probe"), 1);
  EXPECT_EQ(it.shown("conv", "sum count", "Probe (other)"), 2);
}

TEST_F(DeviceTest, WhoWantsTheTensorGetsItAtOnceAndUnmeasured) {
  Monitored it("lenses: [probe_lens: {tensor: true}]\n");
  const auto layer = it.add("conv");
  forward(*layer, 1);
  EXPECT_EQ(it.stage.take_notes("lens.numbers process").size(), 1u);
  it.monitor.tick(std::nullopt);
  EXPECT_EQ(it.shown("conv", "tensor"), 1);
  EXPECT_EQ(it.shown("conv", "deferred"), 0);
  EXPECT_EQ(it.shown("conv", "sum"), std::nullopt);
  EXPECT_EQ(it.shown("conv", "tap count"), 1);
}

TEST_F(DeviceTest, WhoAsksForOnePlaceGetsTheTensorsOfThatPlaceAlone) {
  Monitored it(
      "lenses:\n  - {probe: {id: here, places: cpu, tensor: true}, as: here}\n"
      "  - {probe: {id: there, places: device}, as: there}\n");
  const auto layer = it.add("conv");
  Monitored::forward(*layer, {1});
  EXPECT_EQ(asked.made, 0);
  forward(*layer, 2);
  forward(*layer, 3);
  it.monitor.tick(std::nullopt);
  EXPECT_EQ(it.shown("conv", "sum", "Probe (here)"), 1);
  EXPECT_EQ(it.shown("conv", "sum count", "Probe (here)"), 1);
  EXPECT_EQ(it.shown("conv", "sum count", "Probe (there)"), 2);
}

TEST_F(DeviceTest, WhoNamesNoPlaceGetsTheTensorsOfBoth) {
  Monitored it("lenses: [probe_lens: {places: unsaid}]\n");
  const auto layer = it.add("conv");
  Monitored::forward(*layer, {1});
  forward(*layer, 2);
  it.monitor.tick(std::nullopt);
  EXPECT_EQ(it.shown("conv", "sum count"), 2);
}

TEST_F(DeviceTest, NothingIsMeasuredOnADeviceForWhoAsksForTheProcessorsMemory) {
  Monitored it("lenses: [probe_lens: {places: cpu}]\n");
  const auto layer = it.add("conv");
  forward(*layer, 1);
  it.monitor.tick(std::nullopt);
  EXPECT_EQ(asked.made, 0);
  EXPECT_EQ(it.shown("conv", "tap count"), std::nullopt);
}

TEST_F(DeviceTest, WhatARemovedModuleHadMeasuredStillShows) {
  Monitored it("lenses: [probe_lens]\n");
  const auto layer = it.add("conv");
  forward(*layer, 5);
  layer->close();
  it.monitor.tick(std::nullopt);
  EXPECT_EQ(it.shown("conv", "sum"), 5);
}

TEST_F(DeviceTest, AFaultAtTheTickNamesTheTap) {
  Monitored it("lenses: [probe_lens]\n");
  const auto layer = it.add("conv");
  it.stage.fail("lens.numbers process 0");
  forward(*layer, 1);
  it.monitor.tick(std::nullopt);
  EXPECT_SAYS(only(it.stage.take_messages()),
              " failed at its preprocessor 'probe_numbers' at forward of 'conv': the test wants");
}

TEST_F(DeviceTest, OnErrorStopThrowsAtTheTick) {
  Monitored it("on_error: stop\nlenses: [probe_lens]\n");
  const auto layer = it.add("conv");
  it.stage.fail("lens.numbers process 0");
  forward(*layer, 1);
  EXPECT_THROW(it.monitor.tick(std::nullopt), Error);
}

TEST_F(DeviceTest, PrimedValuesStayOnTheDevice) {
  Monitored it("lenses: [probe_lens: {measures: change}]\n");
  const auto layer = it.add("conv");
  const FloatTensor before({1}, LOUPE_DEVICE_CUDA);
  layer->stream(LOUPE_TAP_FORWARD)->prime(*before.get());
  EXPECT_EQ(asked.primed, 1);
}

TEST(WithoutADevice, ATensorThatCannotBeMeasuredIsAFaultOfItsLens) {
  Monitored it("lenses: [probe_lens]\n");
  const auto layer = it.add("conv");
  Monitored::forward(*layer, {1}, training_pass, LOUPE_DEVICE_CUDA);
  EXPECT_SAYS(only(it.stage.take_messages()), "tensors on a device cannot be measured by this host");
}

}  // namespace
}  // namespace loupe
