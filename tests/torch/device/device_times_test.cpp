// The time that steps take on a device, measured by its queue. The device is a fake whose clocks the tests move.

#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "fake_device.h"

namespace {

namespace nn = torch::nn;
namespace fake_device = loupe::testing::fake_device;

const c10::Device device(at::kPrivateUse1, 0);

/// A linear layer takes 2 ms forward, 4 ms backward for its weight and, except the first, 4 ms backward for its input.
class DeviceTimes : public testing::Test {
 protected:
  DeviceTimes() {
    model->to(device);
    optimizer.emplace(model->parameters(), 0.01);
    fake_device::offences();
  }
  ~DeviceTimes() override { fake_device::capture(false); }

  void begin(const std::string& lenses) {
    inspector.emplace(loupe::Inspector::from_text("attach: {summary: false}\nlenses: [" + lenses + "]\n"));
    inspector->on_finding([this](const loupe::Finding& finding) { found.push_back(finding.rule); });
    inspector->attach(*model, *optimizer);
  }
  void step(double loads = 0) {
    fake_device::pass(loads);
    fake_device::takes("aten::addmm", 2e-3);
    fake_device::takes("aten::mm", 4e-3);
    fake_device::takes("aten::mean", 1e-3);
    fake_device::takes("aten::add", 0.5e-3);
    optimizer->zero_grad();
    model->forward(images).pow(2).mean().backward();
    optimizer->step();
  }
  void epoch(int steps = 40, double loads = 0) {
    for (int i = 0; i < steps; ++i) step(loads);
    fake_device::wait();
    step(loads);
    inspector->tick_epoch();
  }
  double part(const char* line) { return inspector->value("Step Time", "Step Time", line).value_or(NAN); }
  double layer(const char* name, const char* line) { return inspector->value("Layer Time", name, line).value_or(NAN); }

  nn::Sequential model{nn::Linear(8, 16), nn::ReLU(), nn::Linear(16, 4)};
  at::Tensor images = torch::randn({4, 8}).to(device);
  std::optional<torch::optim::SGD> optimizer;
  std::optional<loupe::Inspector> inspector;
  std::vector<std::string> found;
};

TEST_F(DeviceTimes, AreThoseOfItsQueueInPartsThatAddUp) {
  begin("step_time");
  epoch();
  EXPECT_NEAR(part("forward"), 4, 1e-6);
  EXPECT_NEAR(part("loss and backward"), 1 + 3 * 4, 1e-6);
  EXPECT_NEAR(part("optimizer step"), 4 * 0.5, 1e-6);
  EXPECT_NEAR(part("waiting for data"), 0, 1e-6) << "the host is ahead of the device";
  EXPECT_NEAR(part("other"), 0, 1e-6);
  EXPECT_EQ(fake_device::offences(), 0) << "the host waited for the device";
}

TEST_F(DeviceTimes, AreEachLayersOwnForwardAndBackward) {
  begin("step_time");
  epoch();
  EXPECT_NEAR(layer("0", "forward"), 2, 1e-6);
  EXPECT_NEAR(layer("1", "forward"), 0, 1e-6);
  EXPECT_NEAR(layer("2", "forward"), 2, 1e-6);
  EXPECT_NEAR(layer("0", "backward"), 4, 1e-6);
  EXPECT_NEAR(layer("2", "backward"), 8, 1e-6);
}

TEST_F(DeviceTimes, ShowThatTheDeviceWaitsForData) {
  begin("step_time, health: {window: 100000}");
  for (int epochs = 0; epochs < 10; ++epochs) epoch(40, /*loads=*/0.1);
  EXPECT_GT(part("waiting for data"), 60);
  EXPECT_NE(std::find(found.begin(), found.end(), "input_bound"), found.end());
}

TEST_F(DeviceTimes, ShowNothingOfALoaderThatTheDeviceNeverWaitsFor) {
  begin("step_time, health: {window: 100000}");
  for (int epochs = 0; epochs < 10; ++epochs) epoch(40, /*loads=*/0.012);
  EXPECT_NEAR(part("waiting for data"), 0, 1e-6);
  EXPECT_EQ(std::find(found.begin(), found.end(), "input_bound"), found.end());
}

TEST_F(DeviceTimes, AreTheHostsWhereTheStreamIsCaptured) {
  begin("step_time");
  fake_device::capture(true);
  epoch();
  EXPECT_GT(part("forward"), 0);
  EXPECT_NE(part("forward"), 4);
  EXPECT_EQ(fake_device::offences(), 0) << "a query ended the program's capture";
}

TEST_F(DeviceTimes, MemoryKeptForBackwardIsSeenWhereverTheBackwardPassRuns) {
  begin("memory");
  epoch(12);
  const double rows = 4, element = 4, mebibyte = 1 << 20;
  EXPECT_EQ(inspector->value("Kept for Backward", "1", "kept").value_or(NAN), rows * 16 * element / mebibyte);
}

}  // namespace
