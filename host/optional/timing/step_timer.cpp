#include "timing/step_timer.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <mutex>
#include <utility>

#include "core/clock.h"

namespace loupe {

StepTimer& StepTimer::instance() {
  static auto* timer = new StepTimer();  // taps may outlive static destruction
  return *timer;
}

void StepTimer::request(const void* monitor, Extras extras) {
  const std::lock_guard lock(mutex_);
  if (monitor_ != monitor && (state_ != State::idle || !done_.empty())) return;
  if (monitor_ != monitor) done_.clear();
  monitor_ = monitor;
  requested_ = extras;
  busy_ = true;
  if (state_ == State::on) {
    goes_on_ = true;
    return;
  }
  state_ = State::asked;
  dropped_ = closes_ = goes_on_ = false;
}

void StepTimer::close(const void* monitor, uint64_t number) {
  if (!busy_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  if (state_ != State::on || monitor_ != monitor) return;
  closes_ = true;
  number_ = number;
}

std::optional<TimedStep> StepTimer::take(const void* monitor) {
  if (!busy_.load(std::memory_order_relaxed)) return std::nullopt;
  std::unique_lock lock(mutex_);
  if (done_.empty() || monitor_ != monitor) return std::nullopt;
  if (done_.front().device != nullptr && done_.front().device->state() == DeviceClock::State::pending)
    return std::nullopt;
  FinishedStep finished = std::move(done_.front());
  done_.pop_front();
  busy_ = state_ != State::idle || !done_.empty();
  lock.unlock();
  if (finished.device != nullptr) tell_device(finished);
  return std::move(finished.step);
}

bool StepTimer::drop(const void* monitor, bool ends) {
  if (!busy_.load(std::memory_order_relaxed)) return false;
  const std::lock_guard lock(mutex_);
  if (monitor_ != monitor) return false;
  if (ends) done_.clear();
  goes_on_ = false;
  const bool was_idle = state_ == State::idle;
  if (state_ == State::on) {
    dropped_ = closes_ = true;  // the monitor may be destroyed before the step ends
  } else {
    state_ = State::idle;
    busy_ = !done_.empty();
  }
  return !was_idle;
}

bool StepTimer::begins_here() {
  const std::lock_guard lock(mutex_);
  return state_ == State::asked || (state_ == State::on && closes_ && goes_on_ && here() != nullptr);
}

bool StepTimer::step_over(const std::function<std::unique_ptr<DeviceClock>()>& clock_of_device) {
  if (!busy_.load(std::memory_order_relaxed)) return false;
  const double now = steady_time();
  // Do this before the lock is taken: it is held over forks, and must not wait for a device's library.
  auto clock = clock_of_device && begins_here() ? clock_of_device() : nullptr;
  auto device = clock != nullptr ? std::make_shared<DeviceMarks>(std::move(clock)) : nullptr;
  const std::lock_guard lock(mutex_);
  if (state_ == State::idle) return false;
  if (state_ == State::on && !closes_) return here() != nullptr;
  bool begins = state_ == State::asked;
  if (state_ == State::on) {
    WorkListener::set(nullptr);
    const bool is_here = thread_.exchange(nullptr) == &this_thread_;
    if (is_here && !dropped_) done_.push_back(finish(now));
    begins = is_here && goes_on_;
  }
  state_ = begins ? State::on : State::idle;
  dropped_ = closes_ = goes_on_ = false;
  busy_ = begins || !done_.empty();
  if (begins) begin(now, std::move(device));
  return begins;
}

void StepTimer::begin(double now, std::shared_ptr<DeviceMarks> device) {
  device_ = std::move(device);
  extras_ = requested_;
  account_.begin(now, extras_.trace);
  numbers_.clear();
  layers_.clear();
  open_.clear();
  makers_.clear();
  last_layer_ = -1;
  kept_.clear();
  has_kept_ = false;
  optimizer_state_ = 0;
  begun_ = now;
  ++steps_begun_;
  thread_ = &this_thread_;
  WorkListener::set(this);
}

StepTimer::FinishedStep StepTimer::finish(double now) {
  FinishedStep finished;
  finished.traced = extras_.trace;
  TimedStep& step = finished.step;
  step.number = number_;
  step.begin = begun_;
  step.seconds = account_.end(now);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const double kept = i + 1 < kept_.size() ? kept_[i + 1] : 0;
    for (auto& node : layers_[i]) {
      step.layers.push_back({std::move(node), {}, kept});
      finished.numbers.push_back(static_cast<int>(i));
    }
  }
  note_times(finished, account_);
  step.has_memory = !kept_.empty();
  step.kept_outside = kept_.empty() ? 0 : kept_[0];
  step.optimizer_state = optimizer_state_;
  finished.device = std::exchange(device_, nullptr);
  if (finished.device != nullptr) {
    last_layer_ = -1;
    finished.device->end([this](int64_t number) { return layer_of_node(number); });
  }
  return finished;
}

void StepTimer::note_times(FinishedStep& finished, StepAccount& account) {
  TimedStep& step = finished.step;
  for (std::size_t i = 0; i < step_parts; ++i) step.parts[i] = account.split().of(static_cast<StepPart>(i));
  const std::vector<StepSplit::Layer>& times = account.split().layers();
  for (std::size_t place = 0; place < step.layers.size(); ++place) {
    const auto number = static_cast<std::size_t>(finished.numbers[place]);
    step.layers[place].time = number < times.size() ? times[number] : StepSplit::Layer();
  }
  step.spans = std::move(account.spans());
  for (TimedStep::Span& span : step.spans) {
    const auto first = std::lower_bound(finished.numbers.begin(), finished.numbers.end(), span.layer);
    const bool is_known = first != finished.numbers.end() && *first == span.layer;
    span.layer = is_known ? static_cast<int>(first - finished.numbers.begin()) : -1;
  }
}

/// Keeps the host's times if the device cannot measure its own.
void StepTimer::tell_device(FinishedStep& finished) {
  if (finished.device->state() != DeviceClock::State::reached) return;
  try {
    StepAccount account;
    finished.step.seconds = finished.device->tell(account, finished.step.begin, finished.traced);
    finished.step.on_device = true;
    note_times(finished, account);
  } catch (const std::exception&) {
    finished.step.on_device = false;
  }
}

void StepTimer::tell(StepCall call) {
  account_.tell(call, steady_time());
  if (device_ != nullptr) device_->add(std::move(call));
}

bool StepTimer::enter_loupe() {
  if (here() != nullptr) {
    tell({StepCall::Kind::enter_loupe});
    return true;
  }
  if (is_elsewhere()) tell_elsewhere({StepCall::Kind::enter_loupe});
  return is_elsewhere();
}

void StepTimer::leave_loupe() {
  if (here() != nullptr) return tell({StepCall::Kind::leave_loupe});
  if (is_elsewhere()) tell_elsewhere({StepCall::Kind::leave_loupe});
}

void StepTimer::enter_optimizer() {
  if (here() != nullptr) tell({StepCall::Kind::enter_optimizer});
}

void StepTimer::leave_optimizer() {
  if (here() != nullptr) tell({StepCall::Kind::leave_optimizer});
}

bool StepTimer::enter_forward(const void* module, bool trains, int64_t made, const std::function<Nodes()>& nodes) {
  if (here() == nullptr || is_in_loupe()) return false;
  const auto [place, is_new] = numbers_.try_emplace(module, static_cast<int>(layers_.size()));
  if (is_new) layers_.push_back(nodes());
  const int layer = place->second;
  tell({StepCall::Kind::enter_forward, layer, trains});
  if (open_.empty()) made_before_ = made;
  open_.push_back(layer);
  begin_nodes(made, layer);
  return true;
}

void StepTimer::leave_forward(int64_t made) {
  if (here() == nullptr) return;
  tell({.kind = StepCall::Kind::leave_forward, .has_graph = made > made_before_});
  if (open_.empty()) return;
  open_.pop_back();
  begin_nodes(made, open_.empty() ? -1 : open_.back());
}

void StepTimer::begin_nodes(int64_t number, int layer) {
  if (!makers_.empty() && makers_.back().first >= number) makers_.pop_back();  // that forward created no nodes
  makers_.emplace_back(number, layer);
}

int StepTimer::layer_of_node(int64_t number) {
  if (number < 0) return last_layer_;
  const auto after =
      std::upper_bound(makers_.begin(), makers_.end(), std::pair(number, std::numeric_limits<int>::max()));
  return last_layer_ = after == makers_.begin() ? -1 : std::prev(after)->second;
}

void StepTimer::enter_node(int64_t number, const char* name) {
  tell({.kind = StepCall::Kind::enter_node,
        .layer = layer_of_node(number),
        .number = number,
        .name = extras_.trace ? name : ""});
}

void StepTimer::enter_node_elsewhere(int64_t number, const char* name) {
  if (nodes_elsewhere_++ == 0) {
    const std::lock_guard lock(mutex_);
    if (device_ == nullptr || !device_->is_current()) {
      --nodes_elsewhere_;
      return;
    }
  }
  tell_elsewhere(
      {.kind = StepCall::Kind::enter_node, .number = number, .elsewhere = true, .name = extras_.trace ? name : ""});
}

void StepTimer::leave_node_elsewhere() {
  if (nodes_elsewhere_ > 0) {
    tell_elsewhere({.kind = StepCall::Kind::leave_node, .elsewhere = true});
    --nodes_elsewhere_;
  }
  if (is_on()) account_.split().note_elsewhere(steady_time());
}

void StepTimer::tell_elsewhere(StepCall call) {
  std::shared_ptr<DeviceMarks> device;
  {
    const std::lock_guard lock(mutex_);
    device = device_;
  }
  if (device != nullptr) device->add(std::move(call));
}

}  // namespace loupe
