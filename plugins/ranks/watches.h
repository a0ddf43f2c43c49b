#pragma once

#include <loupe/plugin.h>

#include <atomic>
#include <cmath>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ranks/facts.h"
#include "ranks/optimizer_states.h"
#include "ranks/prints.h"
#include "ranks/rank_record.h"

namespace loupe::ranks {

class ModeWatch;

/// One model, and what is gathered of it in this process.
struct ModelWatch {
  ModelWatch(const Module& root_, const Host& host) : root(root_.raw()), name(root_.model()), prints(host) {}

  using Tensor = ModelTensor;

  const loupe_module* root;
  std::string name;
  std::deque<Tensor> tensors;  ///< parameters and buffers, in the order in which modules are visited
  Prints prints;
  uint64_t structure = 0;  ///< a fingerprint of names and shapes

  bool has_input = false;  ///< somebody watches what goes into it
  int masked_layers = 0;   ///< whose dropout is watched

  // Buffers may differ in every rank, and states be divided among them; neither must hide a rank whose parameters
  // differ.
  Facts replica{16}, buffers{4}, states{16}, records{SIZE_MAX};

  // Of events, which may come on several threads.
  std::mutex mutex;
  std::vector<uint64_t> start, batches;
  std::vector<std::pair<std::string, std::string>> masks;
  uint64_t forwards = 0, rows = 0;
  double gradient_squares = 0;
  double input_squares = 0, input_elements = 0;  ///< of some elements of the first inputs
  double last_gradient = 0;                      ///< when it came, on the steady clock; 0: none since the last step
  bool has_non_finite = false;
  RankRecord::NonFinite non_finite;

  // Of steps, which come one at a time.
  uint64_t steps = 0, all_steps = 0;
  double last_step = 0, learning_rate = NAN;
  std::vector<double> step_seconds, waited_seconds;
  std::vector<Replica::Gradients> gradients;
  OptimizerStates optimizer_states;
  std::vector<const ModeWatch*> modes;
};

/// The model's inputs and how often it runs in training.
class InputWatch : public Preprocessor {
 public:
  /// @param starts  is called once, after the first training forward
  InputWatch(ModelWatch& model, std::function<void()> starts) : model_(model), starts_(std::move(starts)) {}
  Request request() const override;
  void process(const Event& event) override;

 private:
  ModelWatch& model_;
  std::function<void()> starts_;
};

/// Where NaN and Inf come first, in outputs and in gradients before they are averaged.
class NumbersWatch : public Preprocessor {
 public:
  NumbersWatch(ModelWatch& model, std::string module, std::string what, bool is_gradient)
      : model_(model), module_(std::move(module)), what_(std::move(what)), is_gradient_(is_gradient) {}
  Request request() const override;
  void process(const Event& event) override;

 private:
  ModelWatch& model_;
  std::string module_, what_;
  bool is_gradient_;
};

/// What dropout keeps: of the first elements one character each, 'k' kept, 'd' dropped, '?' where the input was 0.
class MaskWatch : public Preprocessor {
 public:
  static constexpr int64_t most_elements = 256;
  MaskWatch(ModelWatch& model, std::string module) : model_(model), module_(std::move(module)) {}
  Request request() const override;
  void process(const Event& event) override;
  void reset() override { is_taken_ = false; }

 private:
  ModelWatch& model_;
  std::string module_;
  bool is_taken_ = false;
};

/// A layer that does something else in eval mode: whether it runs in that mode alone while gradients are recorded.
class ModeWatch : public Preprocessor {
 public:
  explicit ModeWatch(std::string module) : module_(std::move(module)) {}
  Request request() const override { return {}; }
  void process(const Event& event) override;
  void reset() override { trains_ = evaluates_ = false; }
  bool only_evaluates() const { return evaluates_ && !trains_; }
  const std::string& module() const { return module_; }

 private:
  std::string module_;
  bool trains_ = false, evaluates_ = false;
};

/// The training losses that the trainer pushes.
class LossWatch : public Preprocessor {
 public:
  Request request() const override { return {}; }
  void process(const Event& event) override;
  void reset() override { sum_ = 0, count_ = 0; }
  double mean() const { return count_ > 0 ? sum_ / static_cast<double>(count_) : NAN; }

 private:
  double sum_ = 0;
  uint64_t count_ = 0;
};

/// Seconds on the steady clock.
double now();

}  // namespace loupe::ranks
