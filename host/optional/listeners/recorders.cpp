#include "loupe/recorders.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <string>

#include "listeners/listening.h"
#include "loupe/reducers.h"
#include "torch/all_taps.h"
#include "torch/model/module_types.h"
#include "torch/tensor/compat.h"
#include "torch/tensor/services.h"

namespace loupe::recorders {
namespace {

/// The records of one module. Gradients come on autograd's threads.
class Record {
 public:
  explicit Record(const Settings& settings) : settings_(settings) {}

  void add(const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    const std::lock_guard lock(mutex_);
    if (settings_.condition && !settings_.condition()) return;
    const at::NoGradGuard no_grad;
    const bool first_item = settings_.keep == Keep::sample && tensor.dim() > 0;
    if (first_item && tensor.size(0) == 0) return;
    const at::Tensor taken = (first_item ? tensor.select(0, 0) : tensor).detach().clone();
    samples_ += first_item || tensor.dim() == 0 ? 1 : static_cast<std::size_t>(tensor.size(0));
    if (settings_.reduction && !tensors_.empty()) {
      tensors_[0] = settings_.reduction(tensors_[0], taken);
    } else {
      tensors_.push_back(taken);
    }
  }

  template <class Function>
  void apply(Function&& function) {
    const std::lock_guard lock(mutex_);
    for (at::Tensor& tensor : tensors_) tensor = function(tensor, samples_);
  }
  const std::vector<at::Tensor>& tensors() const { return tensors_; }
  std::size_t samples() const { return samples_; }
  std::size_t argument() const { return settings_.argument; }

 private:
  Settings settings_;
  std::mutex mutex_;
  std::vector<at::Tensor> tensors_;
  std::size_t samples_ = 0;
};

}  // namespace

class Recorder::Impl {
 public:
  class Listener : public ForwardListener {
   public:
    Listener(Moment moment, const Settings& settings) : moment_(moment), record_(std::make_shared<Record>(settings)) {}

    void entered(torch::nn::Module&, const at::Tensor* const* inputs, std::size_t count) override {
      if (moment_ == Moment::forward_pre) add(inputs, count);
      if (moment_ == Moment::backward_input) await(inputs, count);
    }
    void left(torch::nn::Module&, const at::Tensor* const* inputs, std::size_t input_count,
              const at::Tensor* const* outputs, std::size_t output_count) override {
      if (moment_ == Moment::forward_input) add(inputs, input_count);
      if (moment_ == Moment::forward_output) add(outputs, output_count);
      if (moment_ == Moment::backward_output) await(outputs, output_count);
    }
    Record& record() const { return *record_; }

   private:
    void add(const at::Tensor* const* tensors, std::size_t count) {
      if (record_->argument() < count) record_->add(*tensors[record_->argument()]);
    }
    void await(const at::Tensor* const* tensors, std::size_t count) {
      if (record_->argument() >= count || !at::GradMode::is_enabled()) return;
      const at::Tensor& tensor = *tensors[record_->argument()];
      if (!tensor.requires_grad()) return;
      // A graph may outlive the recorder.
      tensor.register_hook([record = std::weak_ptr(record_)](const at::Tensor& gradient) {
        if (const auto alive = record.lock()) alive->add(gradient);
      });
    }

    Moment moment_;
    std::shared_ptr<Record> record_;
  };
  struct Part {
    std::shared_ptr<Listener> listener;
    std::unique_ptr<Listening> listening;
  };

  Impl(Moment moment_, Settings settings_) : moment(moment_), settings(std::move(settings_)) {}

  void add(const std::vector<std::shared_ptr<torch::nn::Module>>& modules, const Select& which) {
    for (const std::size_t index : which.indices) {
      if (index >= modules.size()) {
        throw std::invalid_argument("loupe: there is no module " + std::to_string(index) + " to record; there are " +
                                    std::to_string(modules.size()));
      }
    }
    const bool all = which.types.empty() && which.indices.empty();
    const HeldRedirections held;  // visible forwards are known only while something is redirected
    std::vector<Part> added;
    for (std::size_t i = 0; i < modules.size(); ++i) {
      if (modules[i] == nullptr || !fits(*modules[i], i, which)) continue;
      const Visibility visibility = visibility_of(*modules[i], true);
      if (all && visibility.container && !visibility.tapped) continue;
      auto listener = std::make_shared<Listener>(moment, settings);
      auto listening = std::make_unique<Listening>(*modules[i], listener);
      added.push_back({std::move(listener), std::move(listening)});
    }
    if (added.empty()) throw std::invalid_argument("loupe: no module of the model matches the selection to record");
    for (Part& part : added) parts.push_back(std::move(part));
  }

  Part& at(std::size_t index) {
    if (index < parts.size()) return parts[index];
    throw std::out_of_range("loupe: no module is recorded under the index " + std::to_string(index) + "; there are " +
                            std::to_string(parts.size()));
  }

  Moment moment;
  Settings settings;
  std::vector<Part> parts;

 private:
  static bool fits(const torch::nn::Module& module, std::size_t index, const Select& which) {
    const auto has = [](const auto& list, const auto& value) {
      return std::find(list.begin(), list.end(), value) != list.end();
    };
    const std::string& type = module.name();
    return (which.indices.empty() || has(which.indices, index)) &&
           (which.types.empty() || has(which.types, type) || has(which.types, short_type(type)));
  }
};

Recorder::Recorder(Moment moment, Settings settings) : impl_(std::make_unique<Impl>(moment, std::move(settings))) {}
Recorder::Recorder(Recorder&&) noexcept = default;
Recorder& Recorder::operator=(Recorder&&) noexcept = default;
Recorder::~Recorder() = default;

Recorder& Recorder::children(torch::nn::Module& model, const Select& which) {
  impl_->add(model.children(), which);
  return *this;
}

Recorder& Recorder::modules(torch::nn::Module& model, const Select& which) {
  std::vector<std::shared_ptr<torch::nn::Module>> all;
  // A model on the stack is in no shared pointer; it lives at least until this call returns.
  all.emplace_back(std::shared_ptr<torch::nn::Module>(), &model);
  for (auto& module : model.modules(/*include_self=*/false)) all.push_back(std::move(module));
  impl_->add(all, which);
  return *this;
}

std::size_t Recorder::size() const {
  return impl_->parts.size();
}
const std::vector<at::Tensor>& Recorder::operator[](std::size_t index) const {
  return impl_->at(index).listener->record().tensors();
}
std::vector<std::vector<at::Tensor>> Recorder::data() const {
  std::vector<std::vector<at::Tensor>> all;
  for (const auto& tensors : *this) all.push_back(tensors);
  return all;
}
std::size_t Recorder::samples(std::size_t index) const {
  return impl_->at(index).listener->record().samples();
}
std::vector<std::size_t> Recorder::iter_samples() const {
  std::vector<std::size_t> counts;
  for (std::size_t i = 0; i < size(); ++i) counts.push_back(samples(i));
  return counts;
}

std::vector<at::Tensor> Recorder::remove(std::size_t index) {
  std::vector<at::Tensor> held = impl_->at(index).listener->record().tensors();
  impl_->parts.erase(impl_->parts.begin() + static_cast<std::ptrdiff_t>(index));
  return held;
}

void Recorder::apply(const std::function<at::Tensor(const at::Tensor&)>& function) {
  apply_sample([&](const at::Tensor& tensor, std::size_t) { return function(tensor); });
}
void Recorder::apply_sample(const std::function<at::Tensor(const at::Tensor&, std::size_t)>& function) {
  for (const Impl::Part& part : impl_->parts) part.listener->record().apply(function);
}

void Recorder::save(const std::filesystem::path& directory, bool mkdir) const {
  const auto* services = part<ServicesTable>(ServicesTable::without);
  if (services == nullptr)
    throw std::runtime_error("loupe: cannot write to '" + directory.string() +
                             "' without the part 'services'; install all of Loupe");
  if (mkdir) std::filesystem::create_directories(directory);
  for (std::size_t i = 0; i < size(); ++i) {
    const bool as_list = !impl_->settings.reduction || (*this)[i].empty();
    services->save((*this)[i], as_list, directory / (std::to_string(i) + ".pt"));
  }
}
}  // namespace loupe::recorders

namespace loupe {
namespace {

// A quotient of decimal fractions is rounded: 0.3 / 0.1 is a little less than 3.
constexpr double slack = 1e-9;

}  // namespace

Reducer::Reducer(double duration, double step_time) : step_time_(step_time) {
  if (!(step_time > 0) || !(duration >= 0) || !std::isfinite(duration / step_time)) {
    throw std::invalid_argument("loupe: a reducer's duration must be at least 0 and its step_time above 0");
  }
  capacity_ = static_cast<std::size_t>(std::ceil(duration / step_time - slack)) + 1;
}

Reducer::~Reducer() = default;

void Reducer::push(const std::vector<at::Tensor>& observation) {
  if (observation.size() != 1) {
    throw std::invalid_argument("loupe: this reducer takes one tensor at a time, and the map gave " +
                                std::to_string(observation.size()) + "; give one, or override Reducer::push");
  }
  const at::NoGradGuard no_grad;
  keep(fold(observation[0].detach(), latest()));
}

void Reducer::clear() {
  history_.clear();
}

at::Tensor Reducer::latest() const {
  return history_.empty() ? at::Tensor() : history_.front();
}

at::Tensor Reducer::peek() const {
  return history_.empty() ? at::Tensor() : history_.front().clone();
}

at::Tensor Reducer::view(double time) const {
  const double steps = time / step_time_;
  const auto last = static_cast<double>(history_.size()) - 1;
  if (!(steps >= -slack && steps <= last + slack)) {
    throw std::out_of_range("loupe: nothing is kept of " + std::to_string(time) + " before the last observation");
  }
  const double whole = std::floor(steps + slack);
  const auto index = static_cast<std::size_t>(whole);
  const double share = steps - whole;
  if (share <= slack || index + 1 >= history_.size()) return history_[index].clone();
  return between(history_[index], history_[index + 1], share);
}

at::Tensor Reducer::dump() const {
  if (history_.empty()) return {};
  return at::stack(std::vector<at::Tensor>(history_.begin(), history_.end()));
}

at::Tensor Reducer::between(const at::Tensor& newer, const at::Tensor& older, double share) const {
  return newer * (1 - share) + older * share;
}

void Reducer::keep(at::Tensor state) {
  history_.push_front(std::move(state));
  if (history_.size() > capacity_) history_.pop_back();
}

namespace reducers {

at::Tensor Passthrough::fold(const at::Tensor& observation, const at::Tensor&) {
  return observation.clone();
}

Event::Event(Criterion criterion, double duration, double step_time)
    : Reducer(duration, step_time), criterion_(std::move(criterion)) {}

at::Tensor Event::fold(const at::Tensor& observation, const at::Tensor& state) {
  const at::Tensor holds = criterion_(observation);
  const auto type = observation.options().dtype(
      at::isFloatingType(observation.scalar_type()) ? observation.scalar_type() : at::kFloat);
  const at::Tensor before =
      state.defined() ? state + step_time() : at::full(holds.sizes(), std::numeric_limits<double>::infinity(), type);
  return at::where(holds, at::zeros({}, type), before);
}

at::Tensor Event::between(const at::Tensor&, const at::Tensor& older, double share) const {
  return older + (1 - share) * step_time();
}

ExponentialAverage::ExponentialAverage(double alpha, double duration, double step_time)
    : Reducer(duration, step_time), alpha_(alpha) {
  if (!(alpha > 0 && alpha <= 1)) {
    throw std::invalid_argument("loupe: alpha must be above 0 and at most 1, not " + std::to_string(alpha));
  }
}

at::Tensor ExponentialAverage::fold(const at::Tensor& observation, const at::Tensor& state) {
  return state.defined() ? observation * alpha_ + state * (1 - alpha_) : observation.clone();
}

void CumulativeAverage::clear() {
  Reducer::clear();
  count_ = 0;
}

at::Tensor CumulativeAverage::fold(const at::Tensor& observation, const at::Tensor& state) {
  ++count_;
  return state.defined() ? state + (observation - state) / static_cast<double>(count_) : observation.clone();
}

at::Tensor Sum::fold(const at::Tensor& observation, const at::Tensor& state) {
  return state.defined() ? state + observation : observation.clone();
}

at::Tensor Minimum::fold(const at::Tensor& observation, const at::Tensor& state) {
  return state.defined() ? at::minimum(state, observation) : observation.clone();
}

at::Tensor Maximum::fold(const at::Tensor& observation, const at::Tensor& state) {
  return state.defined() ? at::maximum(state, observation) : observation.clone();
}

}  // namespace reducers

}  // namespace loupe
