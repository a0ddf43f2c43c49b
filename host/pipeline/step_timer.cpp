#include "pipeline/step_timer.h"

#include <algorithm>
#include <limits>
#include <mutex>

#include "core/clock.h"

namespace loupe {

StepTimer& StepTimer::instance() {
  static auto* timer = new StepTimer();  // taps may outlive static destruction
  return *timer;
}

void StepTimer::request(const void* monitor, bool memory) {
  const std::lock_guard lock(mutex_);
  if (state_ != State::idle) return;
  monitor_ = monitor;
  state_ = State::asked;
  dropped_ = closes_ = false;
  asks_memory_ = memory;
  busy_ = true;
}

void StepTimer::close(const void* monitor) {
  if (!busy_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  closes_ = closes_ || (state_ == State::on && monitor_ == monitor);
}

std::optional<TimedStep> StepTimer::take(const void* monitor) {
  if (!busy_.load(std::memory_order_relaxed)) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (state_ != State::done || monitor_ != monitor) return std::nullopt;
  state_ = State::idle;
  busy_ = false;
  return std::exchange(done_, {});
}

bool StepTimer::drop(const void* monitor) {
  if (!busy_.load(std::memory_order_relaxed)) return false;
  const std::lock_guard lock(mutex_);
  if (monitor_ != monitor) return false;
  if (state_ == State::on) {
    dropped_ = true;
    return true;
  }
  state_ = State::idle;
  busy_ = false;
  done_ = {};
  return true;
}

bool StepTimer::step_over() {
  if (!busy_.load(std::memory_order_relaxed)) return false;
  const double now = steady_time();
  const std::lock_guard lock(mutex_);
  if (state_ == State::asked) {
    split_.begin(now);
    numbers_.clear();
    layers_.clear();
    open_.clear();
    makers_.clear();
    last_layer_ = -1;
    measures_memory_ = asks_memory_;
    kept_.clear();
    optimizer_state_ = 0;
    state_ = State::on;
    thread_ = &this_thread_;
    return true;
  }
  if (state_ != State::on) return false;
  if (!closes_) return here() != nullptr;
  const bool is_here = thread_.exchange(nullptr) == &this_thread_;
  const bool is_whole = is_here && !dropped_;
  if (is_whole) done_ = finish(now);
  state_ = is_whole ? State::done : State::idle;
  busy_ = is_whole;
  return false;
}

TimedStep StepTimer::finish(double now) {
  TimedStep step;
  step.seconds = split_.end(now);
  for (std::size_t i = 0; i < step_parts; ++i) step.parts[i] = split_.of(static_cast<StepPart>(i));
  for (std::size_t i = 0; i < std::min(layers_.size(), split_.layers().size()); ++i) {
    const double kept = i + 1 < kept_.size() ? kept_[i + 1] : 0;
    for (auto& node : layers_[i]) step.layers.push_back({std::move(node), split_.layers()[i], kept});
  }
  step.has_memory = !kept_.empty();
  step.kept_outside = kept_.empty() ? 0 : kept_[0];
  step.optimizer_state = optimizer_state_;
  return step;
}

void StepTimer::enter(int layer, bool trains, int64_t made) {
  split_.enter_forward(layer, trains, steady_time());
  open_.push_back(layer);
  begin_nodes(made, layer);
}

void StepTimer::leave_module(int64_t made) {
  split_.leave_forward(steady_time());
  if (open_.empty()) return;
  open_.pop_back();
  begin_nodes(made, open_.empty() ? -1 : open_.back());
}

void StepTimer::begin_nodes(int64_t number, int layer) {
  if (!makers_.empty() && makers_.back().first >= number) makers_.pop_back();  // it made none
  makers_.emplace_back(number, layer);
}

int StepTimer::layer_of_node(int64_t number) {
  if (number < 0) return last_layer_;
  const auto after =
      std::upper_bound(makers_.begin(), makers_.end(), std::pair(number, std::numeric_limits<int>::max()));
  return last_layer_ = after == makers_.begin() ? -1 : std::prev(after)->second;
}

void StepTimer::enter_node(int64_t number) {
  const int layer = layer_of_node(number);
  split_.enter_node(layer, steady_time());
}

void StepTimer::leave_node() {
  split_.leave_node(steady_time());
}

void StepTimer::enter_optimizer() {
  split_.enter_optimizer(steady_time());
}

void StepTimer::leave_optimizer() {
  split_.leave_optimizer(steady_time());
}

void StepTimer::enter_loupe() {
  split_.enter_loupe(steady_time());
}

void StepTimer::leave_loupe() {
  split_.leave_loupe(steady_time());
}

void StepTimer::node_ran_elsewhere() {
  if (thread_.load(std::memory_order_relaxed) != nullptr) instance().split_.note_elsewhere(steady_time());
}

}  // namespace loupe
