#pragma once

#include <loupe/detail/elements.h>
#include <loupe/host.h>
#include <loupe/plugin.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ranks/common_steps.h"
#include "ranks/prints.h"
#include "ranks/rank_record.h"

namespace loupe::ranks {

/// Calls `take` with elements that are evenly spread over the tensor, the same ones in every rank.
template <class Take>
void for_some(const Elements& elements, Take&& take) {
  constexpr int64_t most = 1024;
  const int64_t stride = (elements.count() + most - 1) / most;
  for (int64_t i = 0; i < elements.count(); i += stride) take(elements.at(i));
}

/// Computes the GradientShape of all gradients of a model at one step.
class GradientShapes {
 public:
  void add(const TensorView& gradient) {
    const Elements elements(gradient);
    is_known_ = is_known_ && (elements.floating() || gradient.numel() == 0);
    if (!is_known_ || gradient.numel() == 0) return;
    for_some(elements, [&](double element) {
      signs_ += element > 0 ? '+' : element < 0 ? '-' : '0';
      signed_ += element > 0 || element < 0 ? 1 : 0;
      squares_ += element * element;
      largest_ = std::max(largest_, std::abs(element));
    });
  }
  GradientShape shape() const {
    constexpr int fewest = 32;  // with fewer, other gradients may have the same signs by chance
    if (!is_known_ || signed_ < fewest || !std::isfinite(squares_)) return {};
    return {fingerprint_of(signs_), std::sqrt(squares_), largest_};
  }

 private:
  std::string signs_;
  int signed_ = 0;
  double squares_ = 0, largest_ = 0;
  bool is_known_ = true;
};

/// A parameter or buffer of a model in this process.
struct ModelTensor {
  const loupe_module* module;
  std::string name;  ///< the parameter's or buffer's name
  bool is_buffer;
};

/// Watches the states that the optimizers of one model keep for its parameters.
class OptimizerStates {
 public:
  /// Called in Lens::step. At an optimizer's first step after a tick it retains the optimizer's states; at later steps
  /// it does nothing.
  void stepped(const Host& host, uint64_t optimizer, const std::deque<ModelTensor>& tensors, Prints& prints);
  /// At a tick: requests the fingerprints of the current states, and releases these.
  void say(Replica& replica, Prints& prints);
  /// When the fingerprints are read: fills them in, together with those after each optimizer's first step.
  void fill(Replica& replica, const Prints& prints);
  /// Releases the states without fingerprints.
  void release();

 private:
  struct Release {
    Host host;
    void operator()(loupe_retained* kept) const { host.tensors().release(host.context(), kept); }
  };
  struct Kept {
    std::size_t tensor;
    std::string state;
    std::unique_ptr<loupe_retained, Release> memory;
    uint64_t fingerprint(Prints& prints) const;
  };
  std::vector<uint64_t> known_, stepped_;  // optimizers that ever stepped, and that stepped since the last tick
  std::vector<Kept> kept_;
  Replica::States start_;
};

class ModeWatch;

/// One model, and its data in this process.
struct ModelWatch {
  ModelWatch(const Module& root_, const Host& host) : root(root_.raw()), name(root_.model()), prints(host) {}

  using Tensor = ModelTensor;

  const loupe_module* root;
  std::string name;
  std::deque<Tensor> tensors;  ///< parameters and buffers, in the order in which modules are visited
  Prints prints;
  uint64_t structure = 0;  ///< a fingerprint of names and shapes

  bool has_input = false;  ///< whether its input is watched
  int masked_layers = 0;   ///< the number of layers whose dropout masks are watched

  // Separate entries, because buffers may differ in every rank and states may be divided among ranks: a rank with
  // different parameters must still be visible.
  Facts replica{16}, buffers{4}, states{16}, records{SIZE_MAX};

  // Data of events, which may come on several threads.
  std::mutex mutex;
  std::vector<uint64_t> start;
  std::vector<std::pair<std::string, std::string>> masks;
  MeasuredStep now;                  ///< the current step, as far as it is measured
  bool is_on_device = false;         ///< whether numbers come only at the tick
  double late_gradient_squares = 0;  ///< the sum of numbers that came at the tick
  double last_gradient = 0;          ///< the time when it came, on the steady clock; 0: none since the last step
  RankRecord::NonFinite non_finite;
  std::vector<uint64_t> finite_steps;  ///< the run's steps that were measured since the last tick, counted from 0

  // Data of steps, which come one at a time; events read them.
  std::atomic<uint64_t> steps{0}, all_steps{0};  ///< since the last tick, and in total
  double last_step = 0, learning_rate = NAN;
  uint64_t measured_count = 0;  ///< since the last tick
  KeptSteps measured;
  std::vector<Replica::Gradients> gradients;
  OptimizerStates optimizer_states;
  std::vector<ModeWatch*> modes;
};

/// Watches the model's inputs, and how often it runs in training, in measured steps.
class InputWatch : public Preprocessor {
 public:
  /// @param starts  called once, after the first training forward
  InputWatch(ModelWatch& model, std::function<void()> starts) : model_(model), starts_(std::move(starts)) {}
  Request request() const override;
  void process(const Event& event) override;

 private:
  ModelWatch& model_;
  std::function<void()> starts_;
};

/// Finds where NaN and Inf appear first, in outputs and in gradients before they are averaged.
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

/// The elements that dropout keeps in the first step after a tick: one character for each of the first elements, 'k'
/// kept, 'd' dropped, '?' if the input was 0.
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

/// Finds out whether a layer that depends on the mode runs only in eval mode while gradients are recorded.
class ModeWatch : public Preprocessor {
 public:
  explicit ModeWatch(std::string module) : module_(std::move(module)) {}
  Request request() const override { return {}; }
  void process(const Event& event) override;
  void reset() override { take_only_evaluates(); }
  /// Whether that was so since the last call.
  bool take_only_evaluates() {
    const bool evaluates = evaluates_.exchange(false), trains = trains_.exchange(false);
    return evaluates && !trains;
  }
  const std::string& module() const { return module_; }

 private:
  std::string module_;
  std::atomic<bool> trains_{false}, evaluates_{false};
};

/// The training losses that the trainer pushes, in every step.
class LossWatch : public Preprocessor {
 public:
  Request request() const override { return {}; }
  void process(const Event& event) override;
  void reset() override { sum_ = 0, count_ = 0; }
  double mean() const { return count_ > 0 ? sum_ / static_cast<double>(count_) : NAN; }
  uint64_t count() const { return count_; }
  /// The first NaN or Inf of the whole run.
  const RankRecord::NonFinite& first_bad() const { return first_bad_; }

 private:
  double sum_ = 0;
  uint64_t count_ = 0;
  RankRecord::NonFinite first_bad_;
};

/// Seconds on the steady clock.
double now();

}  // namespace loupe::ranks
