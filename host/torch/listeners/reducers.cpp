#include "loupe/reducers.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "torch/tensor/compat.h"

namespace loupe {
namespace {

// A quotient of decimal fractions is not always what it says: 0.3 / 0.1 is a little less than 3.
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
