#pragma once

#include <loupe/plugin.h>

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace loupe::fingerprint {

/// Which of a module's tensors, as the file calls it.
struct Place {
  const char* what;
  std::string module;
  std::string name = {};
};

/// Collects the lines of one file, which loupe/files/fingerprint.h describes. Any thread; every function but
/// `new_text` does nothing once all steps are over.
class Writing {
 public:
  Writing(const Host& host, uint64_t steps) : host_(host), steps_(steps) {}

  /// From the trainer's or the model's thread, before the module's first event.
  void add(const Module& module);
  void forget(const Module& module);
  /// The name of a module in the file: its path, after the model's name for all models but the first.
  std::string name_of(const Module& module) const;

  /// Writes a tensor of an event.
  void take(const Place& place, const loupe_tensor& tensor, bool training, uint32_t index = 0);
  /// Writes one of several tensors of a call.
  void take(const Place& place, const Event& event, bool inputs);
  void take_gradient(const Place& place, const Event& event);
  /// Takes the current parameter, and writes its change.
  void take_update(const Place& place, const loupe_tensor& tensor);
  void take_loss(const Event& event);
  /// An optimizer has stepped.
  void end_step(const loupe_step& step);

  /// Whether all steps that were asked for are over.
  bool is_complete() const;
  uint64_t steps_taken() const;
  bool has_begun() const;
  /// The lines since the last call; empty as long as there is no tensor.
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
  std::map<std::string, std::vector<double>> values_;  // the last seen values of each parameter
  std::map<std::string, uint64_t> calls_;              // calls in this step
  std::map<uint64_t, std::size_t> optimizers_;         // by their ids
  uint64_t step_ = 1, clock_ = 0;
  bool has_begun_ = false, is_headed_ = false, has_warned_ = false, forward_since_step_ = false;
};

}  // namespace loupe::fingerprint
