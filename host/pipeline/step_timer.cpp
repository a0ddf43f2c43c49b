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

void StepTimer::request(const void* monitor, Wish wish) {
  const std::lock_guard lock(mutex_);
  if (monitor_ != monitor && (state_ != State::idle || !done_.empty())) return;
  if (monitor_ != monitor) done_.clear();
  monitor_ = monitor;
  asked_for_ = wish;
  busy_ = true;
  if (state_ == State::on) {
    goes_on_ = true;
    return;
  }
  state_ = State::asked;
  dropped_ = closes_ = goes_on_ = false;
}

void StepTimer::close(const void* monitor) {
  if (!busy_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  closes_ = closes_ || (state_ == State::on && monitor_ == monitor);
}

std::optional<TimedStep> StepTimer::take(const void* monitor) {
  if (!busy_.load(std::memory_order_relaxed)) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (done_.empty() || monitor_ != monitor) return std::nullopt;
  TimedStep step = std::move(done_.front());
  done_.pop_front();
  busy_ = state_ != State::idle || !done_.empty();
  return step;
}

bool StepTimer::drop(const void* monitor) {
  if (!busy_.load(std::memory_order_relaxed)) return false;
  const std::lock_guard lock(mutex_);
  if (monitor_ != monitor) return false;
  done_.clear();
  goes_on_ = false;
  const bool was_idle = state_ == State::idle;
  if (state_ == State::on) {
    dropped_ = closes_ = true;  // its monitor may be gone before it ends
  } else {
    state_ = State::idle;
    busy_ = false;
  }
  return !was_idle;
}

bool StepTimer::step_over() {
  if (!busy_.load(std::memory_order_relaxed)) return false;
  const double now = steady_time();
  const std::lock_guard lock(mutex_);
  if (state_ == State::idle) return false;
  if (state_ == State::on && !closes_) return here() != nullptr;
  bool begins = state_ == State::asked;
  if (state_ == State::on) {
    const bool is_here = thread_.exchange(nullptr) == &this_thread_;
    if (is_here && !dropped_) done_.push_back(finish(now));
    begins = is_here && goes_on_;
  }
  state_ = begins ? State::on : State::idle;
  dropped_ = closes_ = goes_on_ = false;
  busy_ = begins || !done_.empty();
  if (begins) begin(now);
  return begins;
}

void StepTimer::begin(double now) {
  split_.begin(now);
  numbers_.clear();
  layers_.clear();
  open_.clear();
  makers_.clear();
  last_layer_ = -1;
  wish_ = asked_for_;
  kept_.clear();
  optimizer_state_ = 0;
  begun_ = now;
  spans_.clear();
  open_spans_.clear();
  thread_ = &this_thread_;
}

TimedStep StepTimer::finish(double now) {
  TimedStep step;
  step.begin = begun_;
  step.seconds = split_.end(now);
  for (std::size_t i = 0; i < step_parts; ++i) step.parts[i] = split_.of(static_cast<StepPart>(i));
  std::vector<int> places(layers_.size(), -1);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const StepSplit::Layer time = i < split_.layers().size() ? split_.layers()[i] : StepSplit::Layer();
    const double kept = i + 1 < kept_.size() ? kept_[i + 1] : 0;
    places[i] = layers_[i].empty() ? -1 : static_cast<int>(step.layers.size());
    for (auto& node : layers_[i]) step.layers.push_back({std::move(node), time, kept});
  }
  while (!open_spans_.empty()) close_span(now);
  step.spans = std::move(spans_);
  for (TimedStep::Span& span : step.spans) {
    if (span.layer >= 0) span.layer = places[static_cast<std::size_t>(span.layer)];
  }
  step.has_memory = !kept_.empty();
  step.kept_outside = kept_.empty() ? 0 : kept_[0];
  step.optimizer_state = optimizer_state_;
  return step;
}

void StepTimer::open_span(TimedStep::Span::Kind kind, int layer, double now, const char* name) {
  if (!wish_.trace) return;
  open_spans_.push_back(spans_.size());
  spans_.push_back({kind, layer, now, now, name});
}

void StepTimer::close_span(double now) {
  if (open_spans_.empty()) return;
  spans_[open_spans_.back()].end = now;
  open_spans_.pop_back();
}

void StepTimer::enter(int layer, bool trains, int64_t made) {
  const double now = steady_time();
  split_.enter_forward(layer, trains, now);
  open_.push_back(layer);
  begin_nodes(made, layer);
  open_span(TimedStep::Span::Kind::forward, layer, now);
}

void StepTimer::leave_module(int64_t made) {
  const double now = steady_time();
  split_.leave_forward(now);
  close_span(now);
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

void StepTimer::enter_node(int64_t number, const char* name) {
  const int layer = layer_of_node(number);
  const double now = steady_time();
  split_.enter_node(layer, now);
  open_span(TimedStep::Span::Kind::backward, layer, now, name);
}

void StepTimer::leave_node() {
  const double now = steady_time();
  split_.leave_node(now);
  close_span(now);
}

void StepTimer::enter_optimizer() {
  const double now = steady_time();
  split_.enter_optimizer(now);
  open_span(TimedStep::Span::Kind::optimizer, -1, now);
}

void StepTimer::leave_optimizer() {
  const double now = steady_time();
  split_.leave_optimizer(now);
  close_span(now);
}

void StepTimer::enter_loupe() {
  const double now = steady_time();
  if (!split_.is_in_loupe()) open_span(TimedStep::Span::Kind::loupe, -1, now);
  split_.enter_loupe(now);
}

void StepTimer::leave_loupe() {
  const double now = steady_time();
  const bool was_in = split_.is_in_loupe();
  split_.leave_loupe(now);
  if (was_in && !split_.is_in_loupe()) close_span(now);
}

void StepTimer::node_ran_elsewhere() {
  if (thread_.load(std::memory_order_relaxed) != nullptr) instance().split_.note_elsewhere(steady_time());
}

}  // namespace loupe
