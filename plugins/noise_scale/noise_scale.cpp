// The lens `noise_scale`: estimates the largest batch that is worth its cost, from gradients of small batches and of
// their sum.

#include <loupe/lenses/explanation.h>
#include <loupe/plugin.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "noise_scale/estimate.h"

namespace loupe {
namespace {

constexpr std::size_t most_passes = 32;

/// A running mean of squared norms.
struct Mean {
  void add(double value) {
    sum += value;
    ++count;
  }
  double get() const { return sum / static_cast<double>(count); }
  double sum = 0;
  uint64_t count = 0;
};

/// The squared norms of one parameter's gradient: after each backward pass of a step, and when the optimizer uses it.
struct Squares {
  std::array<Mean, most_passes> after_pass;
  Mean last, at_step;
};

/// Collects both kinds of norms. Called by the model's threads and by the thread that reports.
class GradientSquares {
 public:
  void add_pass(uint64_t step, double squares) {
    const std::lock_guard<std::mutex> lock(mutex_);
    passes_ = passes_ > 0 && step == step_ ? passes_ + 1 : 1;
    step_ = step;
    last_ = squares;
    if (passes_ <= most_passes) squares_.after_pass[passes_ - 1].add(squares);
  }
  void add_step(double squares) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (passes_ == 0) return;
    squares_.at_step.add(squares);
    squares_.last.add(last_);
    passes_ = 0;
  }
  Squares take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(squares_, {});
  }

 private:
  std::mutex mutex_;
  uint64_t step_ = 0;
  std::size_t passes_ = 0;  // backward passes of this step
  double last_ = 0;
  Squares squares_;
};

class Part : public Preprocessor {
 public:
  Part(GradientSquares& squares, bool of_step) : squares_(&squares), of_step_(of_step) {}
  Request request() const override {
    Request request;
    request.measures = LOUPE_MEASURE_SUMS;
    return request;
  }
  void process(const Event& event) override {
    if (!event.has_measurement()) return;
    const Measurement& measured = event.measurement(LOUPE_MEASURE_SUMS);
    if (measured.nan_count != 0 || measured.inf_count != 0) return;
    if (of_step_) {
      squares_->add_step(measured.sum_squares);
    } else {
      squares_->add_pass(event.step(), measured.sum_squares);
    }
  }

 private:
  GradientSquares* squares_;
  bool of_step_;
};

/// The number of samples per backward pass, from the size of the model's first input.
class BatchSize : public Preprocessor {
 public:
  Request request() const override {
    Request request;
    request.passes = LOUPE_PASS_TRAINING;
    request.wants_tensor = true;  // only the sizes are used; no element is read
    return request;
  }
  void process(const Event& event) override {
    const TensorView tensor = event.tensor();
    if (!tensor || !event.grad_enabled() || tensor.raw()->dim == 0) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    sizes_.add(static_cast<double>(tensor.raw()->sizes[0]));
  }
  std::optional<double> get() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return sizes_.count > 0 ? std::optional(sizes_.get()) : std::nullopt;
  }

 private:
  std::mutex mutex_;
  Mean sizes_;
};

}  // namespace

class NoiseScale : public Lens {
 public:
  static constexpr const char* name = "noise_scale";
  static constexpr const char* help =
      "the batch size up to which larger batches save steps, from summed gradients or ranks";
  static std::vector<const char*> gives() {
    return {"Gradient Noise Scale: the critical batch size, in samples, or in backward passes if no batch is seen"};
  }
  static constexpr const char* example = "noise_scale: {batch_size: 32}";
  static std::vector<Option> options() {
    return {{"batch_size", 0, "samples of a backward pass; 0: by the first dimension of the model's input", 0, 1e9},
            {"memory", 0.9, "how much of the estimates of the epochs before is kept, from 0 to 1", 0., 0.999}};
  }

  NoiseScale(const Options& options, const Host& host)
      : host_(host), given_size_(options.get<int64_t>("batch_size")), kept_(options.get<double>("memory")) {}

  void visit(const Module& module) override {
    if (module.is_loss() || module.is_functional()) return;
    Model& model = models_[module.model()];
    if (model.sized_by == 0 && module.is_tapped() && given_size_ == 0) {
      model.sized_by = module.id();
      watch(module, {"forward_input"}, model.size);
    }
    for (std::size_t i = 0; i < module.parameter_count(); ++i) {
      const Parameter& parameter = module.parameter(i);
      if (is_buffer(parameter)) continue;
      GradientSquares& squares = model.parameters.emplace_back();
      watch(module, Watch("parameter_gradient").label(parameter.name), parts_.emplace_back(squares, false));
      watch(module, Watch("step_gradient").label(parameter.name), parts_.emplace_back(squares, true));
    }
  }

  void report(Report& report) override {
    report.tag(tag, style());
    for (auto& [name, model] : models_) {
      if (const auto now = estimate(model)) {
        // Average numerator and denominator separately: the mean of quotients would be too large.
        const double share = model.weight == 0 ? 0 : kept_;
        model.kept.gradient = share * model.kept.gradient + (1 - share) * now->gradient;
        model.kept.noise = share * model.kept.noise + (1 - share) * now->noise;
        model.weight = 1;
      }
      if (model.weight == 0 || !(model.kept.gradient > 0) || !(model.kept.noise > 0)) continue;
      const double passes = model.kept.noise / model.kept.gradient;
      const auto size = given_size_ > 0 ? std::optional(static_cast<double>(given_size_)) : model.size.get();
      report.value(tag, (models_.size() > 1 ? name + " " : "") + (size ? "samples" : "backward passes"),
                   passes * size.value_or(1));
    }
  }

 private:
  static constexpr const char* tag = "Gradient Noise Scale";

  struct Model {
    std::deque<GradientSquares> parameters;
    BatchSize size;
    uint64_t sized_by = 0;  // the module whose input is measured
    Estimate kept;
    int weight = 0;  // 0 until there is an estimate
  };

  static TagStyle style() {
    TagStyle style = explained(
        {}, {"The gradient noise scale, or critical batch size: the variance of a sample's gradient, summed over all "
             "parameters, divided by the squared length of the gradient itself. Estimated from gradients that are "
             "added up over several backward passes, or from those of several ranks; noisy in single epochs.",
             "The order of the batch that a step uses in all, growing as the loss falls.",
             "Far above the batch: a larger batch, with a larger learning rate, trains in fewer steps. Far below it: "
             "a smaller batch learns as much from each step, and costs less."});
    style.big = style.annotate = style.log_y = true;
    return style;
  }

  std::optional<Estimate> estimate(Model& model) const {
    std::array<double, most_passes> after_pass{};
    std::size_t passes = most_passes;
    double last = 0, at_step = 0;
    bool any = false;
    for (GradientSquares& each : model.parameters) {
      const Squares squares = each.take();
      if (squares.at_step.count == 0) continue;  // the loss does not depend on it
      any = true;
      std::size_t its_passes = 0;
      while (its_passes < most_passes && squares.after_pass[its_passes].count > 0) {
        after_pass[its_passes] += squares.after_pass[its_passes].get();
        ++its_passes;
      }
      passes = std::min(passes, its_passes);
      last += squares.last.get();
      at_step += squares.at_step.get();
    }
    if (!any) return std::nullopt;
    if (passes > 1) return from_passes({after_pass.begin(), after_pass.begin() + static_cast<std::ptrdiff_t>(passes)});
    const loupe_run* run = host_.run();
    return from_ranks(last, at_step, run != nullptr ? static_cast<double>(run->world_size) : 1);
  }

  Host host_;
  int64_t given_size_;
  double kept_;
  std::map<std::string, Model> models_;
  std::deque<Part> parts_;
};

}  // namespace loupe

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"noise_scale", LOUPE_VERSION, "The gradient noise scale.", "the authors of Loupe",
                                     "MIT"}),
                  loupe::NoiseScale);
