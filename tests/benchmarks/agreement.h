// How the times that the lens step_time gives to layers agree with LibTorch's own profile of the same steps: the
// operators that run one after another in a forward, and the nodes of the graph that each of them made.
#pragma once

#include <ATen/SequenceNumber.h>
#include <ATen/record_function.h>
#include <loupe/inspector.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/bench_models.h"

namespace loupe::bench {

/// An operator that no other called, in one step.
struct ProfiledOperator {
  std::string name;
  double forward = 0, backward = 0;  ///< seconds
};

/// Records what LibTorch's profilers build on, on the thread that made it; one at a time.
class Profile {
 public:
  Profile()
      : handle_(
            at::addThreadLocalCallback(at::RecordFunctionCallback(begin, end)
                                           .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}))) {
    current() = this;
  }
  ~Profile() {
    at::removeCallback(handle_);
    current() = nullptr;
  }
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  void begin_step() {
    operators_.clear();
    by_node_.clear();
  }
  /// Until it ends, operators are recorded; after that, nodes of the graph, but not what they call.
  void begin_forward() { is_forward_ = true; }
  void end_forward() { is_forward_ = false; }
  const std::vector<ProfiledOperator>& operators() const { return operators_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Running : at::ObserverContext {
    bool is_node = false;
    int64_t node = 0;
    uint64_t first_node = 0;
    Clock::time_point start = Clock::now();
  };

  static Profile*& current() {
    static thread_local Profile* profile = nullptr;
    return profile;
  }
  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
    Profile* self = current();
    const bool is_node = function.scope() == at::RecordScope::BACKWARD_FUNCTION;
    if (self == nullptr || is_node == self->is_forward_ || std::exchange(self->is_running_, true)) return nullptr;
    auto running = std::make_unique<Running>();
    running->is_node = is_node;
    running->node = function.seqNr();
    running->first_node = at::sequence_number::peek();
    running->start = Clock::now();
    return running;
  }
  static void end(const at::RecordFunction& function, at::ObserverContext* context) {
    Profile* self = current();
    const auto* running = static_cast<const Running*>(context);
    if (self == nullptr || running == nullptr) return;
    self->is_running_ = false;
    const double seconds = std::chrono::duration<double>(Clock::now() - running->start).count();
    if (running->is_node) {
      const auto found = self->by_node_.find(static_cast<uint64_t>(running->node));
      if (found != self->by_node_.end()) self->operators_[found->second].backward += seconds;
    } else if (self->is_forward_) {
      // A linear layer transposes its weight before it multiplies.
      if (self->operators_.empty() || self->operators_.back().name != "aten::t") self->operators_.emplace_back();
      ProfiledOperator& last = self->operators_.back();
      last.name = function.name();
      last.forward += seconds;
      for (uint64_t node = running->first_node; node < at::sequence_number::peek(); ++node)
        self->by_node_[node] = self->operators_.size() - 1;
    }
  }

  at::CallbackHandle handle_;
  std::vector<ProfiledOperator> operators_;
  std::map<uint64_t, std::size_t> by_node_;
  bool is_running_ = false, is_forward_ = false;
};

/// Which layer each operator of a forward belongs to; "" for those between layers. Of A and B each layer is one
/// operator; of E attention and the second layer end before an addition, and the head before the flattening.
inline std::vector<std::string> layers_of(const Subject& subject, const std::vector<ProfiledOperator>& operators) {
  std::vector<std::string> layers(operators.size());
  if (subject.module->as<nn::Sequential>() != nullptr) {
    for (std::size_t i = 0; i < layers.size(); ++i) layers[i] = std::to_string(i);
    return layers;
  }
  std::vector<std::size_t> norms;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    if (operators[i].name == "aten::layer_norm") norms.push_back(i);
  }
  for (std::size_t block = 0; 2 * block + 1 < norms.size(); ++block) {
    const std::string prefix = "block" + std::to_string(block) + ".";
    const std::size_t first = norms[2 * block], second = norms[2 * block + 1];
    layers[first] = prefix + "norm1";
    for (std::size_t i = first + 1; i + 1 < second; ++i) layers[i] = prefix + "attention";
    layers[second] = prefix + "norm2";
    std::size_t next = second + 1;
    for (; operators[next].name != "aten::gelu"; ++next) layers[next] = prefix + "up";
    layers[next] = prefix + "gelu";
    for (++next; next + 1 < norms[2 * block + 2]; ++next) layers[next] = prefix + "down";
  }
  layers[norms.back()] = "norm";
  for (std::size_t i = norms.back() + 1; i + 1 < operators.size(); ++i) layers[i] = "head";
  return layers;
}

struct LayerAgreement {
  std::string layer;
  double profiled = 0, timed = 0;  ///< milliseconds of a step, forward and backward
};

/// Trains so many steps with both. `wall` and `parts` are the milliseconds of a step and the sum of the lens's parts.
struct Agreement {
  std::vector<LayerAgreement> layers;
  double wall = 0, parts = 0;
};
inline Agreement measure_agreement(const std::string& model, int steps) {
  Subject subject = make_subject(model);
  torch::optim::SGD optimizer(subject.module->parameters(), torch::optim::SGDOptions(1e-4));
  Inspector inspector = Inspector::from_text("attach: {summary: false}\nlenses: [step_time]\n");
  inspector.attach(*subject.module, optimizer);
  std::map<std::string, double> profiled;
  std::vector<std::string> layers;
  Profile profile;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < steps; ++i) {
    profile.begin_step();
    optimizer.zero_grad();
    profile.begin_forward();
    const torch::Tensor output = subject.forward(subject.input);
    profile.end_forward();
    nn::functional::cross_entropy(output.slice(1, 0, 10), subject.target).backward();
    optimizer.step();
    if (layers.empty()) layers = layers_of(subject, profile.operators());
    for (std::size_t k = 0; k < layers.size(); ++k)
      profiled[layers[k]] += 1e3 * (profile.operators()[k].forward + profile.operators()[k].backward) / steps;
  }
  Agreement agreement;
  agreement.wall = 1e3 * std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / steps;
  inspector.tick_epoch();
  for (const char* part : {"waiting for data", "forward", "loss and backward", "optimizer step", "other"})
    agreement.parts += inspector.value("Step Time", "Step Time", part).value_or(0);
  agreement.parts += inspector.value("Loupe Time", "Loupe Time", "Loupe").value_or(0);
  for (const auto& [layer, milliseconds] : profiled) {
    const auto forward = inspector.value("Layer Time", layer, "forward");
    const auto backward = inspector.value("Layer Time", layer, "backward");
    if (forward) agreement.layers.push_back({layer, milliseconds, *forward + backward.value_or(0)});
  }
  return agreement;
}

/// The same as a row, printed as well where asked for.
inline nlohmann::json agreement_row(const std::string& model, int steps, bool prints) {
  const Agreement agreement = measure_agreement(model, steps);
  nlohmann::json row = {{"model", model},
                        {"wall_ms", agreement.wall},
                        {"parts_ms", agreement.parts},
                        {"layers", nlohmann::json::array()}};
  if (prints)
    std::printf(
        "model %s: a step takes %.3f ms, its timed parts %.3f ms\n  layer                profiled ms   timed ms\n",
        model.c_str(), agreement.wall, agreement.parts);
  for (const LayerAgreement& each : agreement.layers) {
    row["layers"].push_back({{"layer", each.layer}, {"profiled_ms", each.profiled}, {"timed_ms", each.timed}});
    if (prints)
      std::printf("  %-20s %11.4f %10.4f %7.1f %%\n", each.layer.c_str(), each.profiled, each.timed,
                  100 * (each.timed / each.profiled - 1));
  }
  std::fflush(stdout);
  return row;
}

}  // namespace loupe::bench
