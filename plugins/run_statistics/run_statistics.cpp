#include <loupe/lenses/learning_rates.h>
#include <loupe/plugin.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace loupe {

/// The norm over all gradients of one model at each step. The parameters' sums of squares come one by one; a step is
/// complete when the step changes or a parameter comes again. Any thread.
class GradientTotal {
 public:
  /// @param round  a variable of the parameter: the last sum that contains it
  void add(uint64_t step, uint64_t& round, double squares) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_open_ && (step != step_ || round == round_)) close();
    if (!is_open_) ++round_;
    is_open_ = true;
    step_ = step;
    round = round_;
    sum_ += squares;
  }
  /// Adds numbers of a device, which come at the tick, parameter by parameter. @param index of its steps
  void add_late(std::size_t index, double squares) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (late_.size() <= index) late_.resize(index + 1, 0);
    late_[index] += squares;
  }

  /// The norms of the steps since the last call; NaN and infinite norms are counted.
  Series take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_open_) close();
    for (const double sum : late_) norms_.push(std::sqrt(sum));
    late_.clear();
    Series taken = norms_;
    norms_.reset();
    return taken;
  }

 private:
  void close() {
    norms_.push(std::sqrt(sum_));
    sum_ = 0;
    is_open_ = false;
  }

  std::mutex mutex_;
  bool is_open_ = false;
  uint64_t step_ = 0, round_ = 0;
  double sum_ = 0;
  Series norms_;
  std::vector<double> late_;
};

/// Adds the gradient of one parameter to the total.
class GradientPart : public Preprocessor {
 public:
  explicit GradientPart(GradientTotal& total) : total_(&total) {}

  Request request() const override {
    Request request;
    request.measures = LOUPE_MEASURE_SUMS;
    return request;
  }
  void process(const Event& event) override {
    if (!event.has_measurement()) return;
    const Measurement& measurement = event.measurement(LOUPE_MEASURE_SUMS);
    const double squares = measurement.nan_count != 0   ? NAN
                           : measurement.inf_count != 0 ? INFINITY
                                                        : measurement.sum_squares;
    if ((event.raw()->flags & LOUPE_EVENT_DEFERRED) != 0) {
      total_->add_late(late_++, squares);
    } else {
      total_->add(event.step(), round_, squares);
    }
  }
  void reset() override { late_ = 0; }

 private:
  GradientTotal* total_;
  uint64_t round_ = 0;
  std::size_t late_ = 0;
};

/// The number of samples that a module got in training since the last reset, from the size of its first input.
class SampleCount : public Preprocessor {
 public:
  /// @param dimension the batch dimension of the input
  explicit SampleCount(int64_t dimension) : dimension_(dimension) {}

  Request request() const override {
    Request request;
    request.passes = LOUPE_PASS_TRAINING;
    request.wants_tensor = true;  // only the sizes are used; no element is read or waited for
    return request;
  }
  void process(const Event& event) override {
    const TensorView tensor = event.tensor();
    if (!tensor || !event.grad_enabled()) return;
    events_.fetch_add(1, std::memory_order_relaxed);
    if (tensor.raw()->dim > dimension_)
      samples_.fetch_add(static_cast<uint64_t>(tensor.raw()->sizes[dimension_]), std::memory_order_relaxed);
  }
  void reset() override { events_ = samples_ = 0; }

  // Called at a tick, while other threads may run the model.
  uint64_t events() const { return events_.load(std::memory_order_relaxed); }
  uint64_t samples() const { return samples_.load(std::memory_order_relaxed); }

 private:
  int64_t dimension_;
  std::atomic<uint64_t> events_{0}, samples_{0};
};

/// Curves that make sense for every training, whatever the model.
class RunStatistics : public Lens {
 public:
  static constexpr const char* name = "run_statistics";
  static constexpr const char* help = "learning rates, steps and samples a second, the gradient's norm, memory";
  static std::vector<const char*> gives() {
    return {"Learning Rate: the rate of the epoch's last step; a band if it changed meanwhile",
            "Gradient Norm: the L2 norm of all gradients of a model together, at its steps",
            "Steps per Second: how quickly the epoch's steps followed each other",
            "Samples per Second: the same of samples, if the batch's size is visible",
            "Process Memory: what the process holds in main memory when the epoch ends"};
  }
  static constexpr const char* example = "run_statistics: {batch_dimension: 1}";
  static std::vector<Option> options() {
    return {{"learning_rate", true, "show learning rates"},
            {"gradient_norm", true, "show the norm of all gradients together; reads each gradient once a step"},
            {"speed", true, "show steps and samples a second"},
            {"memory", true, "show the process's memory"},
            {"batch_dimension", 0, "which dimension of the model's input counts its samples", 0, 8}};
  }

  RunStatistics(const Options& options, const Host& host)
      : host_(host),
        shows_rates_(options.get<bool>("learning_rate")),
        shows_gradients_(options.get<bool>("gradient_norm")),
        shows_speed_(options.get<bool>("speed")),
        shows_memory_(options.get<bool>("memory")),
        samples_(options.get<int64_t>("batch_dimension")) {}

  void visit(const Module& module) override {
    if (module.is_loss()) return;
    if (shows_speed_) watch_samples(module);
    if (shows_gradients_) watch_gradients(module);
  }
  void forget(const Module& module) override {
    if (counted_ == module.id()) counted_.reset();
    seen_.erase(module.id());
  }

  void step(const loupe_step& step, Report&) override {
    if (shows_rates_) rates_.step(step);
    if (step.at.step == last_.number) return;  // steps of another optimizer do not count
    last_ = {step.at.step, step.at.elapsed};
    if (!first_) first_ = last_;
  }

  void report(Report& report) override {
    tell_tags(report);
    if (shows_rates_) rates_.report(report, true, false);
    for (auto& [model, total] : totals_) write_gradients(report, model, total->take());
    if (shows_speed_) write_speed(report);
    if (const auto held = shows_memory_ ? mebibytes() : std::nullopt) report.value(memory_tag, "process", *held);
    first_.reset();
  }

 private:
  void tell_tags(Report& report) {
    if (shows_rates_) LearningRates::introduce_rates(report, false);
    if (shows_gradients_ && !totals_.empty()) report.tag(gradient_tag, gradient_style());
    if (shows_speed_) report.tag(step_tag, step_style());
    if (shows_speed_ && counted_) report.tag(sample_tag, sample_style());
    if (shows_memory_) report.tag(memory_tag, memory_style());
  }

  static constexpr const char* gradient_tag = "Gradient Norm";
  static constexpr const char* step_tag = "Steps per Second";
  static constexpr const char* sample_tag = "Samples per Second";
  static constexpr const char* memory_tag = "Process Memory";

  struct Moment {
    uint64_t number = 0;
    double elapsed = 0;
  };

  static TagStyle big(const Explanation& words, const char* unit = "") {
    TagStyle style = explained({}, words);
    style.big = style.annotate = true;
    style.unit = unit;
    return style;
  }
  static TagStyle gradient_style() {
    TagStyle style = big(
        {"How large all gradients of a model are together at a step, as the optimizer is about to use them: the square "
         "root of the sum of all squared elements. The mean and the largest of the epoch's steps.",
         "Falling slowly, with the largest less than ten times the mean.",
         "It jumps: clip gradients a little above the usual value, or lower the learning rate. It is level at one "
         "value: clipping is at work at every step; check whether its limit is meant to be so low. It is 0: nothing is "
         "learned."});
    style.log_y = true;
    return style;
  }
  static TagStyle step_style() {
    return big({"How many optimizer steps a second were taken, from the epoch's first step to its last: validation and "
                "other work between epochs is left out.",
                "Level from epoch to epoch.",
                "Falling: look for data that are loaded ever more slowly, memory that runs out, or a machine that is "
                "shared or throttled. Loupe Time, by the lens step_time, shows the cost of Loupe."},
               "steps/s");
  }
  static TagStyle sample_style() {
    return big({"How many samples a second were trained on: the steps a second times the samples a step, which are "
                "counted along one dimension (batch_dimension, else the first) of the input of the model, or of its "
                "first layer if the model's forward is not visible.",
                "Level from epoch to epoch.",
                "Compare it between batch sizes: if a larger batch does not raise it, the device is busy, or the data "
                "come too slowly."},
               "samples/s");
  }
  static TagStyle memory_style() {
    return big({"What the process holds in main memory (resident set size) when the epoch ends; memory of a GPU is not "
                "in it.",
                "Level after the first epochs.",
                "Growing from epoch to epoch: something is kept, often losses that are summed up with their graph; "
                "sum up loss.item() instead."},
               "MiB");
  }

  /// Counts samples at the model itself, or at its first layer if the model's own forward is not tapped.
  void watch_samples(const Module& module) {
    if (!module.is_tapped() || module.is_functional()) return;
    const uint32_t family = module.family();
    const bool takes_batches =
        family == LOUPE_FAMILY_LINEAR || family == LOUPE_FAMILY_CONVOLUTION || family == LOUPE_FAMILY_EMBEDDING;
    if (counted_ || !(module.is_root() || takes_batches)) return;
    counts_model_ = module.is_root();
    watch(module, {"forward_input"}, samples_);
    counted_ = module.id();
  }

  void watch_gradients(const Module& module) {
    for (std::size_t i = 0; i < module.parameter_count(); ++i) {
      const Parameter& parameter = module.parameter(i);
      if (is_buffer(parameter) || is_known(module, parameter.name)) continue;
      auto& total = totals_[module.model()];
      if (total == nullptr) total = std::make_unique<GradientTotal>();
      watch(module, Watch("step_gradient").label(parameter.name), parts_.emplace_back(*total));
    }
  }
  /// Whether the parameter is watched already: one that two modules share must not count twice.
  bool is_known(const Module& module, const char* parameter) {
    const void* data = nullptr;
    host_.lend_parameter(module.raw(), parameter, false, [&](const loupe_tensor& tensor) { data = tensor.data; });
    if (data == nullptr) return false;
    for (const auto& [id, places] : seen_) {
      if (places.count(data) > 0) return true;
    }
    seen_[module.id()].insert(data);
    return false;
  }

  void write_gradients(Report& report, const std::string& model, const Series& norms) const {
    if (norms.empty()) return;
    const std::string prefix = totals_.size() > 1 && !model.empty() ? model + " " : "";
    const bool any = norms.running().count > 0;
    const double broken = norms.row().nan_count > 0 ? NAN : INFINITY;
    Report::Row row(report);
    row.value(prefix + "mean", any ? norms.running().mean : broken);
    row.value(prefix + "max", any ? norms.running().maximum : broken);
    row.tell(gradient_tag);
  }

  void write_speed(Report& report) const {
    if (!first_ || last_.number <= first_->number || !(last_.elapsed > first_->elapsed)) return;
    const double steps = static_cast<double>(last_.number - first_->number) / (last_.elapsed - first_->elapsed);
    report.value(step_tag, "steps", steps);
    const uint64_t taken = last_.number - first_->number + 1;
    // A layer that runs several times per step does not show the batch size.
    if (samples_.samples() == 0 || (!counts_model_ && samples_.events() > taken)) return;
    const double each = static_cast<double>(samples_.samples()) / static_cast<double>(taken);
    report.value(sample_tag, "samples", steps * each);
  }

  /// Nullopt if the system does not report it.
  static std::optional<double> mebibytes() {
    std::ifstream file("/proc/self/statm");
    double all = 0, resident = 0;
    if (!(file >> all >> resident)) return std::nullopt;
    return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
  }

  Host host_;
  bool shows_rates_, shows_gradients_, shows_speed_, shows_memory_;
  LearningRates rates_;
  SampleCount samples_;
  std::optional<uint64_t> counted_;                               // the module whose input counts samples
  bool counts_model_ = false;                                     // that module is the model itself
  std::map<std::string, std::unique_ptr<GradientTotal>> totals_;  // by model
  std::deque<GradientPart> parts_;                  // kept after forget(): sources may use them until it returns
  std::map<uint64_t, std::set<const void*>> seen_;  // by module, the addresses of its parameters
  std::optional<Moment> first_;                     // the first step of this epoch
  Moment last_;
};

}  // namespace loupe

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"run_statistics", LOUPE_VERSION, "General numbers of a training run.",
                                     "the authors of Loupe", "MIT"}),
                  loupe::RunStatistics);
