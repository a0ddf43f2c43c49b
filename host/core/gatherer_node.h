#ifndef LOUPE_CORE_GATHERER_NODE_H
#define LOUPE_CORE_GATHERER_NODE_H

#include <loupe/abi.h>

#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/catalogue.h"
#include "core/component_instance.h"
#include "core/source.h"
#include "measure/measurer.h"

namespace loupe {

class ModuleNode;

/// Measures a device's tensors without waiting for it. Made by the part of the host that knows LibTorch.
class DeviceMeasurer {
 public:
  using Deliver = std::function<void(const loupe_measurement& measurement, uint32_t flags, uint64_t number)>;
  virtual ~DeviceMeasurer() = default;
  virtual void prime(const loupe_tensor& tensor) = 0;
  /// Enqueues the work; never waits, never copies to the host.
  virtual void measure(const loupe_tensor& tensor, uint32_t flags, uint64_t number) = 0;
  /// One copy to the host, then every measurement in the order of the events.
  virtual void collect(const Deliver& deliver) = 0;
};
using DeviceMeasurerFactory = std::function<std::unique_ptr<DeviceMeasurer>(const loupe_request& request)>;
void set_device_measurer_factory(DeviceMeasurerFactory factory);

/// One gatherer on one module, and the preprocessors behind it: measures each event once for all that ask the same.
/// Called under its module's mutex.
class GathererNode {
 public:
  GathererNode(ModuleNode& module, std::string key, const CatalogueEntry& entry, std::unique_ptr<OptionSet> options,
               const char* label);
  GathererNode(const GathererNode&) = delete;
  GathererNode& operator=(const GathererNode&) = delete;

  const std::string& key() const { return key_; }
  bool failed() const { return failed_; }
  void fail() { failed_ = true; }
  void open();
  /// Puts a preprocessor behind this gatherer.
  void add(loupe_source& source);
  bool wants_tensors() const { return wants_tensors_; }
  void event(const loupe_event& event);
  void prime(const loupe_tensor& tensor);
  /// Delivers what a device has measured since the last call.
  void collect_deferred();
  /// Bytes held for measuring.
  std::size_t bytes() const;

 private:
  struct Group {
    explicit Group(const loupe_request& wanted) : request(wanted), measurer(wanted) {}
    bool accepts(const loupe_request& wanted) const;
    loupe_request request;
    measure::Measurer measurer;
    std::unique_ptr<DeviceMeasurer> device;
    uint32_t tap = 0;  ///< of the last event measured on the device
    uint64_t emission = 0;
    const loupe_measurement* result = nullptr;
  };

  void emit(const loupe_event& event);
  void process(loupe_source& source, const loupe_event& event);
  void measure_on_device(Group& group, const loupe_event& event);
  void blame_everybody(const std::string& what, uint32_t tap);

  ModuleNode& module_;
  std::string key_;
  CatalogueEntry entry_;
  std::unique_ptr<OptionSet> options_;
  std::string label_;
  bool has_label_;
  ComponentInstance instance_;
  loupe_taps taps_{};
  std::deque<Group> groups_;
  std::vector<loupe_source*> sources_;
  bool wants_tensors_ = false;
  bool failed_ = false;
  std::exception_ptr stop_;  ///< what `on_error: stop` is about to throw at the trainer
  uint64_t emission_ = 0;
};

}  // namespace loupe

#endif
