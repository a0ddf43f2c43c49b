#pragma once

#include <loupe/plugin.h>

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace loupe::fingerprint {

/// A tensor of a module, under the file's name for it.
struct Place {
  const char* what;
  std::string module;
  std::string name = {};
};

/// Collects the lines of one file in the format described in loupe/files/fingerprint.h. Any thread. After the last
/// requested step, all functions but `new_text` do nothing.
class Writing {
 public:
  Writing(const Host& host, uint64_t steps) : host_(host), steps_(steps) {}

  /// Called from the trainer's or the model's thread, before the first event of the module.
  void add(const Module& module);
  void forget(const Module& module);
  /// The name of a module in the file: its path, preceded by the model's name except for the first model.
  std::string name_of(const Module& module) const;

  /// Writes the tensor of an event.
  void take(const Place& place, const loupe_tensor& tensor, bool training, uint32_t index = 0);
  /// Writes one of several tensors of a call, at its index.
  void take(const Place& place, const Event& event, bool inputs);
  void take_gradient(const Place& place, const Event& event);
  /// Reads the current value of the parameter, and writes its change.
  void take_update(const Place& place, const loupe_tensor& tensor);
  void take_loss(const Event& event);
  /// Called when an optimizer has stepped.
  void end_step(const loupe_step& step);

  /// Whether all requested steps were taken.
  bool is_complete() const;
  uint64_t steps_taken() const;
  bool has_begun() const;
  /// The lines since the last call; "" before the first tensor.
  std::string new_text();

 private:
  struct Known {
    uint64_t id;
    std::string name;
    const loupe_module* module;
    std::vector<std::string> parameters, buffers;
  };
  bool begin();
  uint64_t next_call(const Place& place);
  void write(const Place& place, const loupe_tensor& tensor, bool training, uint32_t index, uint64_t call);
  void write(const Place& place, const std::vector<int64_t>& shape, const std::string& dtype,
             const std::vector<double>& elements, bool training, uint32_t index, uint64_t call);
  void write_buffers();
  void write_optimizer(const loupe_optimizer& optimizer);
  bool copy(const Place& place, const loupe_tensor& tensor, std::vector<double>& elements);

  Host host_;
  const uint64_t steps_;
  mutable std::mutex mutex_;
  std::string text_, model_type_, first_model_;
  std::deque<Known> modules_;
  std::map<std::string, std::vector<double>> values_;  // the last known values of each parameter
  std::map<std::string, uint64_t> calls_;              // the number of calls in this step
  std::map<uint64_t, std::size_t> optimizers_;         // by optimizer id
  uint64_t step_ = 1, clock_ = 0;
  bool has_begun_ = false, is_headed_ = false, has_warned_ = false, forward_since_step_ = false;
};

}  // namespace loupe::fingerprint
