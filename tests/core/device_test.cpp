// Tensors on a device: Loupe reports events immediately and numbers at the tick, and it never reads their elements.

#include <gtest/gtest.h>
#include <loupe/draft/abi/flags.h>
#include <loupe/draft/abi/loss_input.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "monitored.h"
#include "pipeline/optimizer_facts.h"

namespace loupe {
namespace {

/// How often the fake devices were called, over all their measurers.
struct Asked {
  int made = 0, measured = 0, collected = 0, primed = 0, forgotten = 0;
  loupe_request request{};  // the request of the last measurer
};
Asked asked;

/// A fake measurer that stores the first element of each tensor, and returns it as the sum when collected.
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
    set_device_measurer_factory([](const loupe_request& request, int64_t) -> std::unique_ptr<DeviceMeasurer> {
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
  Layered it("lenses: [probe_lens]\n");
  for (float i = 1; i <= 3; ++i) forward(*it.layer, i);
  EXPECT_EQ(it.stage.take_notes("lens.numbers process"), Texts{});
  EXPECT_EQ(asked.collected, 0);
  it.tick();
  EXPECT_EQ(it.stage.take_notes("lens.numbers process"),
            (Texts{"lens.numbers process 0", "lens.numbers process 1", "lens.numbers process 2"}));
  EXPECT_EQ(asked.collected, 1);
  EXPECT_EQ(it.shown("conv", "sum"), 3);
  EXPECT_EQ(it.shown("conv", "sum count"), 3);
  EXPECT_EQ(it.shown("conv", "deferred"), 1);
  EXPECT_EQ(it.shown("conv", "tensor"), 0);
  EXPECT_EQ(it.shown("conv", "tap"), LOUPE_TAP_FORWARD);
}

TEST_F(DeviceTest, AHearerReceivesAnEventImmediatelyAndItsMeasurementAtTheTick) {
  Layered it("lenses: [probe_hearer, probe_lens]\n");
  forward(*it.layer, 1);
  forward(*it.layer, 2);
  EXPECT_EQ(it.stage.take_notes("hearer hears"),
            (Texts{"hearer hears conv probe_forward 0: waits", "hearer hears conv probe_forward 1: waits"}));
  it.tick();
  EXPECT_EQ(it.stage.take_notes("hearer hears"),
            (Texts{"hearer hears conv probe_forward 0: 1 late", "hearer hears conv probe_forward 1: 2 late"}));
}

TEST_F(DeviceTest, ADeferredEventHasTheStepOfItsTensor) {
  Layered it("lenses: [probe_lens]\n");
  it.monitor.note_step();
  it.monitor.note_step();
  forward(*it.layer, 1);
  it.monitor.note_step();
  it.tick();
  EXPECT_EQ(it.shown("conv", "deferred step"), 2);
}

TEST_F(DeviceTest, TwoLensesWithOneRequestShareAMeasurement) {
  Layered it("lenses:\n  - probe_lens\n  - {probe: {id: other}, as: other}\n");
  forward(*it.layer, 1);
  forward(*it.layer, 2);
  it.tick();
  EXPECT_EQ(asked.made, 1);
  EXPECT_EQ(asked.measured, 2);
  EXPECT_EQ(it.shown("conv", "sum count", "Probe"), 2);
  EXPECT_EQ(it.shown("conv", "sum count", "Probe (other)"), 2);
}

TEST_F(DeviceTest, ALensForDevicesSharesTheMeasurementOfALensForAllPlaces) {
  // The lens `third` has a different request. It is measured between the two, as lenses for devices come last.
  Layered it(
      "lenses:\n  - probe_lens: {places: device}\n  - {probe: {id: other}, as: other}\n"
      "  - {probe: {id: third, passes: training, measures: [sums, previous]}, as: third}\n");
  forward(*it.layer, 1);
  it.tick();
  EXPECT_EQ(asked.made, 2) << "two requests, two groups";
  EXPECT_EQ(asked.measured, 2) << "one measurement in each group";
  EXPECT_EQ(it.shown("conv", "sum count", "Probe"), 1);
  EXPECT_EQ(it.shown("conv", "sum count", "Probe (other)"), 1);
}

TEST_F(DeviceTest, UsualEventsAreNotTalliedButProcessedAtTheTick) {
  Layered it("lenses: [probe_lens: {rests: [usual]}]\n");
  it.tick();
  forward(*it.layer, 1);
  it.tick();
  EXPECT_EQ(it.shown("tally", "events"), 0);
  EXPECT_EQ(it.shown("conv", "sum count"), 1);
}

TEST_F(DeviceTest, ARestingSourceReceivesOnlyEventsFromBeforeItsRest) {
  for (const std::string what : {"events", "measures"}) {
    Layered it("lenses:\n  - probe_lens: {rests: [" + what + ", nothing]}\n  - {probe: {id: other}, as: other}\n");
    forward(*it.layer, 1);
    it.tick();
    EXPECT_EQ(it.shown("conv", "sum count"), 1) << what;
    forward(*it.layer, 2);
    forward(*it.layer, 3);
    it.tick();
    EXPECT_EQ(it.shown("conv", "sum", "Probe"), 1) << what << ": the last value before the rest";
    EXPECT_EQ(it.shown("conv", "sum", "Probe (other)"), 3) << what;
    forward(*it.layer, 4);
    it.tick();
    EXPECT_EQ(it.shown("conv", "sum", "Probe"), 4) << what;
    EXPECT_EQ(it.shown("conv", "sum count", "Probe"), 1) << what;
  }
}

TEST_F(DeviceTest, UnitsAreCountedAsOneLensAsksWhateverTheOrderOfLenses) {
  for (const char* lenses :
       {"[gradient_geometry, parameter_gradient_activation]", "[parameter_gradient_activation, gradient_geometry]"}) {
    Layered it(std::string("lenses: ") + lenses + "\n");
    const FloatTensor gradient({1, 2}, LOUPE_DEVICE_CUDA);
    Stream* stream = it.layer->stream(LOUPE_TAP_PARAMETER_GRADIENT, "weight");
    ASSERT_NE(stream, nullptr);
    stream->dispatch(gradient.get(), training_pass);
    EXPECT_NE(asked.request.measures & LOUPE_MEASURE_ACTIVITY, 0u);
    EXPECT_NE(asked.request.measures & LOUPE_MEASURE_PREVIOUS, 0u);
    EXPECT_EQ(asked.request.unit_dimension, 0) << lenses;
  }
}

TEST_F(DeviceTest, EachPreprocessorGetsItsRequestedPasses) {
  Layered it("lenses:\n  - probe_lens: {passes: training}\n  - {probe: {id: other}, as: other}\n");
  forward(*it.layer, 1);
  forward(*it.layer, 2, 0);
  it.tick();
  EXPECT_EQ(it.shown("conv", "sum count", "Probe"), 1);
  EXPECT_EQ(it.shown("conv", "sum count", "Probe (other)"), 2);
}

TEST_F(DeviceTest, ALensThatWantsTensorsGetsThemImmediatelyAndUnmeasured) {
  Layered it("lenses: [probe_lens: {tensor: true}]\n");
  forward(*it.layer, 1);
  EXPECT_EQ(it.stage.take_notes("lens.numbers process").size(), 1u);
  it.tick();
  EXPECT_EQ(it.shown("conv", "tensor"), 1);
  EXPECT_EQ(it.shown("conv", "deferred"), 0);
  EXPECT_EQ(it.shown("conv", "sum"), std::nullopt);
  EXPECT_EQ(it.shown("conv", "tap count"), 1);
}

TEST_F(DeviceTest, WhoAsksForOnePlaceGetsTheTensorsOfThatPlaceAlone) {
  Layered it(
      "lenses:\n  - {probe: {id: here, places: cpu, tensor: true}, as: here}\n"
      "  - {probe: {id: there, places: device}, as: there}\n");
  it.forward({1});
  EXPECT_EQ(asked.made, 0);
  forward(*it.layer, 2);
  forward(*it.layer, 3);
  it.tick();
  EXPECT_EQ(it.shown("conv", "sum", "Probe (here)"), 1);
  EXPECT_EQ(it.shown("conv", "sum count", "Probe (here)"), 1);
  EXPECT_EQ(it.shown("conv", "sum count", "Probe (there)"), 2);
}

TEST_F(DeviceTest, ALensWithoutAPlaceGetsAllTensors) {
  Layered it("lenses: [probe_lens: {places: unsaid}]\n");
  it.forward({1});
  forward(*it.layer, 2);
  it.tick();
  EXPECT_EQ(it.shown("conv", "sum count"), 2);
}

TEST_F(DeviceTest, NothingIsMeasuredOnADeviceForALensForTheHost) {
  Layered it("lenses: [probe_lens: {places: cpu}]\n");
  forward(*it.layer, 1);
  it.tick();
  EXPECT_EQ(asked.made, 0);
  EXPECT_EQ(it.shown("conv", "tap count"), std::nullopt);
}

TEST_F(DeviceTest, MeasurementsOfARemovedModuleStillShow) {
  Layered it("lenses: [probe_lens]\n");
  forward(*it.layer, 5);
  it.layer->close();
  it.tick();
  EXPECT_EQ(it.shown("conv", "sum"), 5);
}

TEST_F(DeviceTest, AFaultAtTheTickNamesTheTap) {
  Layered it("lenses: [probe_lens]\n");
  it.stage.fail("lens.numbers process 0");
  forward(*it.layer, 1);
  it.tick();
  EXPECT_SAYS(only(it.stage.take_messages()),
              " failed at its preprocessor 'probe_numbers' at forward of 'conv': the test wants");
}

TEST_F(DeviceTest, OnErrorStopThrowsAtTheTick) {
  Layered it("on_error: stop\nlenses: [probe_lens]\n");
  it.stage.fail("lens.numbers process 0");
  forward(*it.layer, 1);
  EXPECT_THROW(it.tick(), Error);
}

TEST_F(DeviceTest, PrimedValuesStayOnTheDevice) {
  Layered it("lenses: [probe_lens: {measures: change}]\n");
  const FloatTensor before({1}, LOUPE_DEVICE_CUDA);
  it.layer->stream(LOUPE_TAP_FORWARD)->prime(*before.get());
  EXPECT_EQ(asked.primed, 1);
}

TEST(WithoutADevice, ATensorThatCannotBeMeasuredIsAnErrorOfItsLens) {
  Layered it("lenses: [probe_lens]\n");
  it.forward({1}, training_pass, LOUPE_DEVICE_CUDA);
  EXPECT_SAYS(only(it.stage.take_messages()), "tensors on a device cannot be measured by this host");
}

/// A fake measurer that sums squares, and squares of the change since the previous tensor.
class SummingDevice : public DeviceMeasurer {
 public:
  void prime(const loupe_tensor& tensor) override { last_ = values_of(tensor); }
  void forget() override { last_.clear(); }
  void measure(const loupe_tensor& tensor, uint32_t flags, uint64_t number) override {
    loupe_measurement measured{};
    measured.struct_size = sizeof measured;
    measured.measures = LOUPE_MEASURE_SUMS | LOUPE_MEASURE_CHANGE;
    measured.numel = tensor.numel;
    const std::vector<float> now = values_of(tensor);
    for (std::size_t i = 0; i < now.size(); ++i) {
      measured.sum_squares += now[i] * now[i];
      if (!last_.empty()) measured.change_sum_squares += (now[i] - last_[i]) * (now[i] - last_[i]);
    }
    measured.flags = last_.empty() ? 0 : LOUPE_MEASUREMENT_HAS_CHANGE;
    last_ = now;
    pending_.push_back({measured, flags, number});
  }
  void collect(const Deliver& deliver) override {
    for (const Pending& each : pending_) deliver(each.measured, each.flags, each.number);
    pending_.clear();
  }

 private:
  struct Pending {
    loupe_measurement measured;
    uint32_t flags;
    uint64_t number;
  };
  static std::vector<float> values_of(const loupe_tensor& tensor) {
    const auto* values = static_cast<const float*>(tensor.data);
    return {values, values + tensor.numel};
  }
  std::vector<float> last_;
  std::vector<Pending> pending_;
};

/// Trains a model of one layer and a dropout on the fake device.
class HealthOnADevice : public testing::Test {
 protected:
  explicit HealthOnADevice(const std::string& options = "{}")
      : it(yaml(options)), layer(it.add("fc", LOUPE_MODULE_LEAF | LOUPE_MODULE_TAPPED)) {
    ModuleDescription dropout;
    dropout.name = dropout.path = "dropout";
    dropout.type = "Dropout";
    dropout.flags = LOUPE_MODULE_LEAF | LOUPE_MODULE_TAPPED;
    dropout.family = LOUPE_FAMILY_DROPOUT;
    last = it.monitor.add_module(std::move(dropout));
    set_rate(0.01);
    for (const uint32_t flag : {uint32_t{LOUPE_PARAMETER_OPTIMIZED}, uint32_t{LOUPE_DRAFT_PARAMETER_GRADIENT}})
      layer->set_parameter_flag(0, flag, true);
    it.host.on_finding = [this](const loupe_finding& finding) {
      if (finding.state == LOUPE_FINDING_RAISED) found.push_back(finding.rule);
    };
  }
  ~HealthOnADevice() override { set_device_measurer_factory({}); }

  static std::string yaml(const std::string& options) {
    set_device_measurer_factory([](const loupe_request&, int64_t) -> std::unique_ptr<DeviceMeasurer> {
      return std::make_unique<SummingDevice>();
    });
    return "lenses: [health: " + options + "]\n";
  }
  static void tell(ModuleNode& module, uint32_t tap, std::vector<float> values, uint32_t flags) {
    Stream* stream = module.stream(tap, tap == LOUPE_TAP_FORWARD ? "" : "weight");
    ASSERT_NE(stream, nullptr);
    stream->dispatch(FloatTensor(std::move(values), LOUPE_DEVICE_CUDA).get(), flags);
  }
  void forward(uint32_t flags = training_pass) {
    tell(*layer, LOUPE_TAP_FORWARD, draw(), flags);
    tell(*last, LOUPE_TAP_FORWARD, draw(), flags);
  }
  /// @param rate  the step subtracts the gradient times this
  void step(float rate = 0.01F, uint32_t flags = training_pass) {
    forward(flags);
    const std::vector<float> gradient = draw();
    tell(*layer, LOUPE_TAP_PARAMETER_GRADIENT, gradient, flags);
    for (std::size_t i = 0; i < weight.size(); ++i) weight[i] -= rate * gradient[i];
    end_step();
  }
  void end_step() {
    tell(*layer, LOUPE_TAP_OPTIMIZER_STEP, weight, training_pass);
    it.monitor.note_step(&optimizer.get());
    it.monitor.end_step();
  }
  void set_rate(double rate, double weight_decay = 0) {
    GroupFacts group;
    group.set_rate(rate);
    group.set_weight_decay(weight_decay);
    group.group.tensor_count = 1;
    group.group.element_count = 6;
    optimizer.set_groups({group});
  }
  void tick() {
    layer->set_parameter_flag(0, LOUPE_DRAFT_PARAMETER_CHANGED, true);
    it.monitor.tick(std::nullopt);
  }
  void validate(uint32_t flags) {
    for (int i = 0; i < 3; ++i) forward(flags);
    it.monitor.push("val_loss", 1, LOUPE_EVENT_LOSS);
  }
  float next() { return static_cast<float>(++drawn * 7919 % 1009) / 1009 - 0.5F; }
  std::vector<float> draw() { return {next(), next(), next(), next(), next(), next()}; }

  Monitored it;
  std::shared_ptr<ModuleNode> layer, last;
  OptimizerFacts optimizer{1, "", "SGD"};
  std::vector<float> weight = {0.5F, -0.3F, 0.2F, 0.8F, -0.6F, 0.1F};
  std::vector<std::string> found;
  int drawn = 0;
};
using Rules = std::vector<std::string>;

TEST_F(HealthOnADevice, IsSilentWhileTrainingIsHealthy) {
  for (int epoch = 0; epoch < 4; ++epoch) {
    for (int i = 0; i < 130; ++i) step();
    validate(0);
    tick();
  }
  EXPECT_EQ(found, Rules());
}

TEST_F(HealthOnADevice, ReportsAtTheSecondStepThatNoGradientReachesTheModel) {
  layer->set_parameter_flag(0, LOUPE_DRAFT_PARAMETER_GRADIENT, false);
  forward();
  end_step();
  EXPECT_EQ(found, Rules()) << "the first step may come before the first backward pass";
  forward();
  end_step();
  EXPECT_EQ(found, Rules{"nothing_trainable"});
}

TEST_F(HealthOnADevice, ReportsAtTheStepThatItIsTrainedInEvalMode) {
  step(0.01F, LOUPE_EVENT_GRAD_ENABLED);
  EXPECT_EQ(found, Rules{"mode_mismatch"});
}

TEST_F(HealthOnADevice, ReportsAtTheTickThatItIsValidatedInTrainingMode) {
  for (int i = 0; i < 4; ++i) step();
  validate(LOUPE_EVENT_TRAINING);
  tick();
  EXPECT_EQ(found, Rules{"mode_mismatch"});
}

TEST_F(HealthOnADevice, ReportsAtTheTickThatStepsChangedNothing) {
  for (int i = 0; i < 5; ++i) step(0);
  EXPECT_EQ(found, Rules());
  tick();
  EXPECT_EQ(found, Rules{"no_effect"});
}

TEST_F(HealthOnADevice, JudgesTheNumbersOfAllStepsBeforeTheTick) {
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (int i = 0; i < 101; ++i) step(i % 2 == 0 ? 0.8F : -0.8F);
    tick();
  }
  EXPECT_EQ(found, Rules{"update_ratio"});
}

TEST_F(HealthOnADevice, AssumesThatAGradientWasClearedIfItCannotSeeIt) {
  for (int i = 0; i < 5; ++i) step(0.01F, training_pass | LOUPE_DRAFT_EVENT_NOT_CLEARED);
  tick();
  EXPECT_EQ(found, Rules());
}

TEST_F(HealthOnADevice, IgnoresStepsAtARateOfZero) {
  step();
  tick();
  set_rate(0);
  step(0);
  set_rate(0.01);
  tick();
  EXPECT_EQ(found, Rules());
}

TEST_F(HealthOnADevice, AcceptsATrainerThatStepsByHand) {
  layer->set_parameter_flag(0, LOUPE_DRAFT_PARAMETER_GRADIENT, false);  // the trainer clears it before it reports
  for (int i = 0; i < 4; ++i) {
    forward();
    tell(*layer, LOUPE_TAP_PARAMETER_GRADIENT, draw(), training_pass);
    for (float& each : weight) each += 0.01F;
    tell(*layer, LOUPE_TAP_OPTIMIZER_STEP, weight, training_pass);
    it.monitor.note_step();
    it.monitor.end_step();
  }
  EXPECT_EQ(found, Rules());
}

TEST_F(HealthOnADevice, SeesThatTheTrainedModelIsTheOneThatIsValidated) {
  const auto root = it.add("net", LOUPE_MODULE_ROOT);
  for (int epoch = 0; epoch < 5; ++epoch) {
    for (int i = 0; i < 4; ++i) step();
    for (int i = 0; i < 3; ++i) forward(0);
    root->stream(LOUPE_DRAFT_TAP_LOSS_INPUT)->dispatch(FloatTensor(draw(), LOUPE_DEVICE_CUDA).get(), 0);
    it.monitor.push("train_loss", 1.3 - 0.2 * epoch, LOUPE_EVENT_LOSS | training_pass);
    it.monitor.push("val_loss", 1.25 + 0.4 * epoch, LOUPE_EVENT_LOSS);
    tick();
  }
  EXPECT_EQ(std::count(found.begin(), found.end(), "unrelated_validation"), 0);
}

TEST_F(HealthOnADevice, ComparesWeightsWithThoseAfterTheFirstStep) {
  set_rate(0.01, /*weight_decay=*/5);
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (int i = 0; i < 130; ++i) {
      for (float& each : weight) each *= epoch == 0 && i < 60 ? 0.97F : 1;
      step(1e-4F);
    }
    tick();
  }
  EXPECT_EQ(std::count(found.begin(), found.end(), "excessive_weight_decay"), 1);
}

class HealthOnADeviceWithTwoRulesOff : public HealthOnADevice {
 protected:
  HealthOnADeviceWithTwoRulesOff() : HealthOnADevice("{off: [dead_units, repeated_batch]}") {}
};

TEST_F(HealthOnADeviceWithTwoRulesOff, ReportsOnceWhichRulesDoNotApply) {
  for (int epoch = 0; epoch < 2; ++epoch) {
    step();
    tick();
  }
  Rules told;
  for (const std::string& message : it.stage.take_messages()) {
    if (message.find("run on a device") != std::string::npos) told.push_back(message);
  }
  ASSERT_EQ(told.size(), 1U);
  for (const char* silent :
       {"these rules do not apply: ", "gradients_not_cleared, ", "shared_rows, ", "weights_reset, "})
    EXPECT_NE(told[0].find(silent), std::string::npos) << told[0];
}

}  // namespace
}  // namespace loupe
