#pragma once

#include <loupe/finding.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "faults.h"
#include "pipeline/monitor.h"
#include "stage.h"

namespace loupe {

/// A contiguous float tensor.
class FloatTensor {
 public:
  explicit FloatTensor(std::vector<float> values, int32_t device = LOUPE_DEVICE_CPU)
      : values_(std::move(values)), size_(static_cast<int64_t>(values_.size())) {
    tensor_.struct_size = sizeof tensor_;
    tensor_.dtype_code = LOUPE_DTYPE_FLOAT;
    tensor_.dtype_bits = 32;
    tensor_.dtype_lanes = 1;
    tensor_.device_type = device;
    tensor_.data = values_.data();
    tensor_.sizes = &size_;
    tensor_.strides = &stride_;
    tensor_.dim = 1;
    tensor_.numel = size_;
  }
  FloatTensor(const FloatTensor&) = delete;
  FloatTensor& operator=(const FloatTensor&) = delete;
  const loupe_tensor* get() const { return &tensor_; }

 private:
  std::vector<float> values_;
  int64_t size_, stride_ = 1;
  loupe_tensor tensor_{};
};

constexpr uint32_t training_pass = LOUPE_EVENT_TRAINING | LOUPE_EVENT_GRAD_ENABLED;

/// A host of a monitor. A test may set its functions; an empty one does nothing.
struct MadeHost : MonitorHost {
  void before_tick() override {
    if (on_before_tick) on_before_tick();
  }
  std::vector<const loupe_optimizer*> optimizers() override { return attached; }
  void looking_changed() override {
    if (on_looking_changed) on_looking_changed();
  }
  void tick_due() override {
    if (on_tick_due) on_tick_due();
  }
  void finding_told(const loupe_finding& finding) override {
    if (on_finding) on_finding(finding);
  }

  std::function<void()> on_before_tick, on_looking_changed, on_tick_due;
  std::function<void(const loupe_finding&)> on_finding;
  std::vector<const loupe_optimizer*> attached;
};

/// A monitor with the probe plugin, and modules without LibTorch.
class Monitored {
 public:
  explicit Monitored(const std::string& yaml) : monitor(Config::from_text(with_probe(yaml), "a.yaml", "/"), &host) {}
  explicit Monitored(Config config) : monitor(std::move(config), &host) {}

  std::shared_ptr<ModuleNode> add(const std::string& name, uint32_t flags = LOUPE_MODULE_LEAF,
                                  const std::shared_ptr<ModelNode>& model = nullptr,
                                  const ModuleNode* parent = nullptr) {
    ModuleDescription description;
    description.name = description.path = name;
    description.type = "Linear";
    description.flags = flags;
    description.parameters = {{"weight", LOUPE_PARAMETER_TRAINABLE, {2, 3}, 6}};
    description.offers = [](uint32_t, const std::string& label) { return label == "weight"; };
    return monitor.add_module(std::move(description), model, parent);
  }
  /// Runs a forward of the module.
  static void forward(ModuleNode& module, std::vector<float> values, uint32_t flags = training_pass,
                      int32_t device = LOUPE_DEVICE_CPU) {
    const FloatTensor tensor(std::move(values), device);
    Stream* stream = module.stream(LOUPE_TAP_FORWARD);
    ASSERT_NE(stream, nullptr);
    stream->dispatch(tensor.get(), flags);
  }
  void tick() { monitor.tick(std::nullopt); }
  void publish(const Finding& finding, const char* source = "the lens 'x'") {
    monitor.publish(finding.c_form(), source);
  }
  /// The value of the last tick that showed this line.
  std::optional<double> shown(const std::string& layer, const std::string& line, const std::string& tag = "Probe") {
    return monitor.display().last(tag, layer, line);
  }

  Stage stage;
  MadeHost host;
  Monitor monitor;
};

/// A monitor with one module, "conv".
struct Layered : Monitored {
  /// @param from  text or Config
  template <class From>
  explicit Layered(From&& from) : Monitored(std::forward<From>(from)), layer(add("conv")) {}
  void forward(std::vector<float> values, uint32_t flags = training_pass, int32_t device = LOUPE_DEVICE_CPU) const {
    Monitored::forward(*layer, std::move(values), flags, device);
  }

  const std::shared_ptr<ModuleNode> layer;
};

}  // namespace loupe
