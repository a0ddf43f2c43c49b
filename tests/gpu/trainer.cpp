// Trains a small or a large model, with or without an inspector, and prints its results and costs as one line of JSON,
// which checks.py compares. With a LibTorch with CUDA, it can train on a card, otherwise only on the processor.
//   gpu_trainer [NAME=VALUE]...   see Options

#include <ATen/autocast_mode.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "count_waits.h"
#include "watching.h"

#ifdef LOUPE_GPU_TRAINER_CUDA
#include <ATen/cuda/CUDAGraph.h>
#include <c10/core/Event.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#endif

namespace {

namespace nn = torch::nn;
using torch::Tensor;

struct Options {
  std::string model = "small";  // small, double, exact, cnn or transformer
  std::string type = "float";   // the input's type for the model "exact": float, half or bfloat16
  std::string monitor;          // path of a configuration; empty: no inspector
  bool cuda = false;            // train on the card
  bool autocast = false;        // use autocast with a gradient scaler
  bool graph = false;           // capture a step, and replay it
  bool streams = false;         // run each model on a separate stream
  bool waits = false;           // wait for the loss of every step
  bool deterministic = true;    // else runs may differ even without Loupe
  int models = 1, epochs = 2, steps = 10;
  int64_t batch = 16, width = 16, layers = 2;

  Options(int count, char** arguments) {
    const std::map<std::string, std::string*> texts{{"model", &model}, {"type", &type}, {"monitor", &monitor}};
    const std::map<std::string, bool*> flags{{"cuda", &cuda},   {"autocast", &autocast},
                                             {"graph", &graph}, {"streams", &streams},
                                             {"waits", &waits}, {"deterministic", &deterministic}};
    const std::map<std::string, int*> counts{{"models", &models}, {"epochs", &epochs}, {"steps", &steps}};
    const std::map<std::string, int64_t*> sizes{{"batch", &batch}, {"width", &width}, {"layers", &layers}};
    for (int i = 1; i < count; ++i) {
      const std::string argument = arguments[i];
      const std::size_t equals = std::min(argument.find('='), argument.size());
      const std::string name = argument.substr(0, equals),
                        value = argument.substr(std::min(equals + 1, argument.size()));
      if (texts.count(name) != 0) {
        *texts.at(name) = value;
      } else if (flags.count(name) != 0) {
        *flags.at(name) = value == "1";
      } else if (counts.count(name) != 0) {
        *counts.at(name) = std::stoi(value);
      } else if (sizes.count(name) != 0) {
        *sizes.at(name) = std::stoll(value);
      } else {
        throw std::invalid_argument("this trainer has no option '" + name + "'");
      }
    }
  }
  torch::Device device() const { return cuda ? torch::Device(torch::kCUDA, 0) : torch::Device(torch::kCPU); }
};

struct Work {
  nn::Sequential model;
  Tensor input;
  Tensor labels = {};  // undefined if the model is not trained
};

struct MeanOfWordsImpl : nn::Module {
  Tensor forward(const Tensor& words) { return words.mean(0); }
};
TORCH_MODULE(MeanOfWords);

nn::Conv2d convolution(int64_t from, int64_t to, int64_t stride) {
  return nn::Conv2d(nn::Conv2dOptions(from, to, 3).stride(stride).padding(1));
}

/// Creates the same model for all devices, on the processor and only with layers that have deterministic kernels.
Work make_work(const Options& options) {
  const int64_t batch = options.batch, width = options.width;
  const Tensor labels = torch::randint(10, {batch}, torch::kLong);
  if (options.model == "small") {  // it has layers with a state, and layers with random numbers
    nn::Sequential model{convolution(3, width, 2),
                         nn::BatchNorm2d(width),
                         nn::ReLU(),
                         convolution(width, width, 2),
                         nn::Tanh(),
                         nn::Flatten(),
                         nn::Dropout(0.1),
                         nn::Linear(width * 16, 10)};
    return {model, torch::randn({batch, 3, 16, 16}), labels};
  }
  if (options.model == "double") {
    nn::Sequential model{nn::Linear(32, 64), nn::ReLU(), nn::Linear(64, 64), nn::Tanh(), nn::Linear(64, 10)};
    model->to(torch::kDouble);
    return {model, torch::randn({batch, 32}, torch::kDouble), labels};
  }
  if (options.model == "exact") {  // every device computes exactly the same
    Tensor input = torch::randn({batch, 96});
    input[0][1] = NAN;
    input[1][2] = INFINITY;
    input[2] = -1;
    const auto type = options.type == "half"       ? torch::kHalf
                      : options.type == "bfloat16" ? torch::kBFloat16
                                                   : torch::kFloat;
    return {nn::Sequential(nn::ReLU(), nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(0.5)), nn::Flatten()),
            input.to(type)};
  }
  if (options.model == "cnn") {
    nn::Sequential model{convolution(3, width, 1)};
    for (int64_t layer = 0; layer < options.layers; ++layer) {
      model->push_back(convolution(width, width, 1));
      model->push_back(nn::BatchNorm2d(width));
      model->push_back(nn::ReLU());
    }
    model->push_back(convolution(width, 4, 2));
    model->push_back(nn::Flatten());
    model->push_back(nn::Linear(4 * 16 * 16, 10));
    return {model, torch::randn({batch, 3, 32, 32}), labels};
  }
  if (options.model == "transformer") {
    const nn::TransformerEncoderLayer layer(
        nn::TransformerEncoderLayerOptions(width, std::max<int64_t>(1, width / 64)).dim_feedforward(4 * width));
    nn::Sequential model{nn::TransformerEncoder(layer, options.layers), MeanOfWords(), nn::Linear(width, 10)};
    return {model, torch::randn({2 * batch, batch, width}), labels};  // dimensions: words, samples, features
  }
  throw std::invalid_argument("there is no model '" + options.model + "'");
}

/// Enables mixed precision while this object lives.
class Autocast {
 public:
  explicit Autocast(const Options& options) : on_(options.autocast), device_(options.device().type()) {
    switch_to(true);
  }
  Autocast(const Autocast&) = delete;
  ~Autocast() { switch_to(false); }

 private:
  void switch_to(bool on) {
    if (!on_) return;
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
    at::autocast::set_autocast_enabled(device_, on);
#else
    at::autocast::set_cpu_enabled(on);
#endif
    if (!on) at::autocast::clear_cache();
  }
  const bool on_;
  const torch::DeviceType device_;
};

/// A model with its input, labels and optimizer.
class Training {
 public:
  explicit Training(const Options& options) : options_(options), work_(make_work(options)) {
    work_.model->to(options.device());
    work_.input = work_.input.to(options.device());
    if (!work_.labels.defined()) return;
    work_.labels = work_.labels.to(options.device());
    if (options.graph) {
      optimizer_ =
          std::make_unique<torch::optim::SGD>(model().parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
    } else {
      optimizer_ = std::make_unique<torch::optim::Adam>(model().parameters(), torch::optim::AdamOptions(1e-3));
    }
  }
  nn::SequentialImpl& model() { return *work_.model; }
  torch::optim::Optimizer* optimizer() { return optimizer_.get(); }
  const Tensor& output() const { return output_; }
  const Tensor& loss() const { return loss_; }

  void step() {
    if (optimizer_ == nullptr) {
      output_ = model().forward(work_.input);
      work_.input = work_.input.roll(1, 0);
      return;
    }
    if (!options_.graph) optimizer_->zero_grad();
    {
      const Autocast autocast(options_);
      output_ = model().forward(work_.input);
      loss_ = nn::functional::cross_entropy(output_, work_.labels);
    }
    if (options_.autocast) {
      scaled_step();
    } else {
      loss_.backward();
      optimizer_->step();
    }
    if (options_.waits) loss_.item<double>();
  }

 private:
  /// Scales the loss like PyTorch's GradScaler, at first with a scale that is too large.
  void scaled_step() {
    (loss_ * scale_).backward();
    Tensor finite = torch::ones({}, torch::TensorOptions(options_.device()).dtype(torch::kBool));
    for (Tensor& parameter : model().parameters()) {
      parameter.mutable_grad().mul_(1 / scale_);
      finite = finite.logical_and(parameter.grad().isfinite().all());
    }
    if (finite.item<bool>()) {
      optimizer_->step();
    } else {
      scale_ /= 2;
    }
  }

  const Options options_;
  Work work_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
  Tensor output_, loss_;
  double scale_ = 16777216;
};

void synchronize(const Options& options) {
  if (options.cuda) torch::cuda::synchronize();
}

/// Measures the time between marks with events of the device or the processor's clock.
class Clock {
 public:
  explicit Clock(const Options& options) : cuda_(options.cuda) {}
  void mark() {
#ifdef LOUPE_GPU_TRAINER_CUDA
    if (cuda_) {
      events_.emplace_back(c10::DeviceType::CUDA, c10::EventFlag::BACKEND_DEFAULT)
          .record(c10::cuda::getCurrentCUDAStream());
      return;
    }
#endif
    times_.push_back(std::chrono::steady_clock::now());
  }
  /// The median time between marks. The device must have reached all marks.
  double milliseconds() {
    std::vector<double> between;
    for (std::size_t i = 1; i < times_.size(); ++i)
      between.push_back(std::chrono::duration<double, std::milli>(times_[i] - times_[i - 1]).count());
#ifdef LOUPE_GPU_TRAINER_CUDA
    for (std::size_t i = 1; i < events_.size(); ++i) between.push_back(events_[i - 1].elapsedTime(events_[i]));
#endif
    if (between.empty()) return 0;
    std::nth_element(between.begin(), between.begin() + static_cast<std::ptrdiff_t>(between.size() / 2), between.end());
    return between[between.size() / 2];
  }

 private:
  [[maybe_unused]] const bool cuda_;
  std::vector<std::chrono::steady_clock::time_point> times_;
#ifdef LOUPE_GPU_TRAINER_CUDA
  std::vector<c10::Event> events_;
#endif
};

/// The memory of tensors on the card, now and at most; zeros on the processor.
struct Held {
  int64_t now = 0, peak = 0;
};
Held held(const Options& options) {
#ifdef LOUPE_GPU_TRAINER_CUDA
  if (options.cuda) {
    const auto bytes = c10::cuda::CUDACachingAllocator::getDeviceStats(0).allocated_bytes[0];
    return {bytes.current, bytes.peak};
  }
#endif
  static_cast<void>(options);
  return {};
}

/// Runs the steps of all models, each on its stream, or replays a captured step.
class Steps {
 public:
  Steps(const Options& options, std::vector<std::unique_ptr<Training>>& trainings)
      : options_(options), trainings_(trainings) {
#ifdef LOUPE_GPU_TRAINER_CUDA
    if (options.streams || options.graph)
      for (std::size_t i = 0; i < trainings.size(); ++i) streams_.push_back(c10::cuda::getStreamFromPool());
    if (options.graph) capture();
#else
    if (options.graph || options.streams) throw std::invalid_argument("graphs and streams are not in this LibTorch");
#endif
  }
  void step() {
#ifdef LOUPE_GPU_TRAINER_CUDA
    if (options_.graph) return graph_->replay();
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      const c10::cuda::CUDAStreamGuard guard(streams_[i]);
      train(*trainings_[i]);
    }
    if (!streams_.empty()) return;
#endif
    for (const auto& training : trainings_) train(*training);
  }
  /// Keeps the streams busy, so that code that does not wait for them reads wrong values.
  void burden() {
#ifdef LOUPE_GPU_TRAINER_CUDA
    for (const c10::cuda::CUDAStream& stream : streams_) {
      const c10::cuda::CUDAStreamGuard guard(stream);
      const Tensor heavy = torch::ones({4096, 4096}, options_.device());
      for (int i = 0; i < 40; ++i) torch::mm(heavy, heavy);
    }
#endif
  }

 private:
  void train(Training& training) {
    training.step();
    if (!options_.monitor.empty() && training.loss().defined()) watching::push_loss(training.loss());
  }
#ifdef LOUPE_GPU_TRAINER_CUDA
  void capture() {
    const c10::cuda::CUDAStreamGuard guard(streams_[0]);
    for (int i = 0; i < 3; ++i) {
      trainings_[0]->optimizer()->zero_grad();
      trainings_[0]->step();
    }
    trainings_[0]->optimizer()->zero_grad();
    synchronize(options_);
    graph_.emplace();
    graph_->capture_begin();
    trainings_[0]->step();
    graph_->capture_end();
  }
  std::vector<c10::cuda::CUDAStream> streams_;
  std::optional<at::cuda::CUDAGraph> graph_;
#endif
  const Options& options_;
  std::vector<std::unique_ptr<Training>>& trainings_;
};

class Hash {
 public:
  void add(const Tensor& tensor) {
    const Tensor bytes = tensor.detach().to(torch::kCPU).contiguous();
    const auto* begin = static_cast<const unsigned char*>(bytes.data_ptr());
    for (std::size_t i = 0; i < bytes.nbytes(); ++i) value_ = (value_ ^ begin[i]) * 1099511628211u;
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 14695981039346656037u;
};

void train(const Options& options) {
  torch::manual_seed(1);
  at::globalContext().setDeterministicAlgorithms(options.deterministic, /*warn_only=*/false);
  at::globalContext().setDeterministicCuDNN(options.deterministic);
  at::globalContext().setBenchmarkCuDNN(false);

  std::vector<std::unique_ptr<Training>> trainings;
  for (int i = 0; i < options.models; ++i) trainings.push_back(std::make_unique<Training>(options));
  synchronize(options);

  const bool watches = !options.monitor.empty();
  if (watches) {
    watching::begin(options.monitor);
    for (int i = 0; i < options.models; ++i) {
      Training& training = *trainings[i];
      watching::attach(training.model(), training.optimizer(), options.models > 1 ? "model" + std::to_string(i) : "");
    }
  }
  Steps steps(options, trainings);
  Clock clock(options);
  waits before{}, after{}, ticked{};
  for (int epoch = 1; epoch <= options.epochs; ++epoch) {
    for (const auto& training : trainings) training->model().train();
    if (epoch == options.epochs) {
      synchronize(options);
      before = count_waits();
      clock.mark();
    }
    for (int step = 1; step <= options.steps; ++step) {
      if (step == options.steps) steps.burden();
      steps.step();
      if (epoch == options.epochs) clock.mark();
    }
    if (epoch == options.epochs) after = count_waits();
    if (watches) watching::tick();
    if (epoch == options.epochs) ticked = count_waits();
  }
  synchronize(options);

  const std::string findings = watches ? watching::end() : "";
  Hash weights, outputs;
  int64_t parameter_bytes = 0;
  for (const auto& training : trainings) {
    for (const Tensor& parameter : training->model().parameters()) {
      weights.add(parameter);
      parameter_bytes += static_cast<int64_t>(parameter.nbytes());
    }
    for (const Tensor& buffer : training->model().buffers()) {
      weights.add(buffer);
      parameter_bytes += static_cast<int64_t>(buffer.nbytes());
    }
    outputs.add(training->output());
  }
  const Held memory = held(options);
  std::printf(
      "{\"weights\": \"%016llx\", \"outputs\": \"%016llx\", \"milliseconds\": %.6f, \"synchronizations\": %ld, "
      "\"copies\": "
      "%ld, \"allocations\": %ld, \"at_the_tick\": %ld, \"held\": %lld, \"peak\": %lld, \"parameter_bytes\": %lld, "
      "\"findings\": [%s]}\n",
      static_cast<unsigned long long>(weights.value()), static_cast<unsigned long long>(outputs.value()),
      clock.milliseconds(), after.synchronizations - before.synchronizations, after.copies - before.copies,
      after.allocations - before.allocations, ticked.synchronizations - after.synchronizations,
      static_cast<long long>(memory.now), static_cast<long long>(memory.peak), static_cast<long long>(parameter_bytes),
      findings.c_str());
}

}  // namespace

int main(int count, char** arguments) {
  try {
    train(Options(count, arguments));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
