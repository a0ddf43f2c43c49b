#include "ranks/watches.h"

#include <loupe/draft/tensor_math.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace loupe::ranks {

namespace {

/// Adds an id. Returns whether it is new.
bool add_new(std::vector<uint64_t>& ids, uint64_t id) {
  if (std::find(ids.begin(), ids.end(), id) != ids.end()) return false;
  ids.push_back(id);
  return true;
}

void note(Replica::States& states, const std::string& state, std::size_t tensor, uint64_t fingerprint) {
  std::vector<uint64_t>& of = states[state];
  of.resize(std::max(of.size(), tensor + 1), 0);
  of[tensor] = fingerprint;
}

}  // namespace

uint64_t OptimizerStates::Kept::fingerprint(Prints& prints) const {
  const Host& host = memory.get_deleter().host;
  return prints.take(TensorView(host.tensors().view(host.context(), memory.get())));
}

void OptimizerStates::stepped(const Host& host, uint64_t optimizer, const std::deque<ModelTensor>& tensors,
                              Prints& prints) {
  if (!add_new(stepped_, optimizer)) return;
  const bool is_first = add_new(known_, optimizer);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].is_buffer) continue;
    host.lend_parameter(tensors[i].module, tensors[i].name.c_str(), false, [&](const loupe_tensor& parameter) {
      draft::lend_optimizer_states(host, parameter, [&](const char* name, const loupe_tensor& state) {
        loupe_retained* kept = nullptr;
        detail::ErrorBuffer error;
        error.check(host.tensors().retain(host.context(), &state, &kept, error.get()));
        kept_.push_back({i, name, {kept, Release{host}}});
        if (is_first) note(start_, name, i, kept_.back().fingerprint(prints));
      });
    });
  }
}

void OptimizerStates::say(Replica& replica, Prints& prints) {
  for (const Kept& kept : kept_) note(replica.states, kept.state, kept.tensor, kept.fingerprint(prints));
  release();
}

void OptimizerStates::fill(Replica& replica, const Prints& prints) {
  for (auto& [name, numbers] : start_) prints.fill(numbers);
  for (auto& [name, numbers] : replica.states) prints.fill(numbers);
  replica.first_states = start_;
}

void OptimizerStates::release() {
  kept_.clear();
  stepped_.clear();
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Request InputWatch::request() const {
  Request request;
  request.passes = LOUPE_PASS_TRAINING;
  request.wants_tensor = true;
  return request;
}

void InputWatch::process(const Event& event) {
  constexpr std::size_t most_batches = 4;  // at most this many per step
  if (!event.grad_enabled()) return;
  if (starts_) std::exchange(starts_, nullptr)();
  const std::lock_guard lock(model_.mutex);
  MeasuredStep& now = model_.now;
  ++now.forwards;
  if (event.input_count() == 0) return;
  const TensorView input = event.input(0);
  if (input && input.dim() > 0) now.rows += static_cast<uint64_t>(input.size(0));
  if (now.batches.size() == most_batches || !KeptSteps::has_inputs(model_.steps)) return;
  now.batches.push_back(model_.prints.take(input));
  const Elements elements(input);
  if (!elements.floating()) return;
  for_some(elements, [&](double element) {
    if (!std::isfinite(element)) return;
    now.input_squares += element * element;
    ++now.input_elements;
  });
}

Request NumbersWatch::request() const {
  Request request;
  request.measures = LOUPE_MEASURE_SUMS;
  request.passes = LOUPE_PASS_TRAINING;
  return request;
}

void NumbersWatch::process(const Event& event) {
  const Measurement* measured = event.has_measurement() ? &event.measurement() : nullptr;
  const bool is_bad = measured != nullptr && (measured->nan_count > 0 || measured->inf_count > 0);
  if (!is_bad && !is_gradient_) return;
  const bool came_now = is_gradient_ && (event.raw()->flags & LOUPE_EVENT_DEFERRED) == 0;
  const double time = came_now ? now() : 0;
  const std::lock_guard lock(model_.mutex);
  if (came_now) model_.last_gradient = time;
  if (is_bad) {
    RankRecord::NonFinite& first = model_.non_finite;
    if (first.is_there()) return;
    first.step = event.step();
    first.module = module_;
    first.what = what_;
  } else if (measured != nullptr) {
    (came_now ? model_.now.gradient_squares : model_.late_gradient_squares) += measured->sum_squares;
    model_.is_on_device = model_.is_on_device || !came_now;
  }
}

Request MaskWatch::request() const {
  Request request;
  request.passes = LOUPE_PASS_TRAINING;
  request.wants_tensor = true;
  return request;
}

void MaskWatch::process(const Event& event) {
  if (is_taken_ || model_.steps > 0 || event.input_count() == 0) return;
  const TensorView input = event.input(0), output = event.tensor();
  const auto is_plain = [](const TensorView& tensor) {
    return tensor && tensor.is_cpu() && tensor.is_contiguous() && tensor.is_of(LOUPE_DTYPE_FLOAT, 32);
  };
  if (!is_plain(input) || !is_plain(output) || input.numel() != output.numel()) return;
  is_taken_ = true;
  std::string mask;
  for (int64_t i = 0; i < std::min(most_elements, input.numel()); ++i) {
    const float in = input.data<float>()[i], out = output.data<float>()[i];
    mask += in == 0 ? '?' : out == 0 ? 'd' : 'k';
  }
  const std::lock_guard lock(model_.mutex);
  model_.masks.emplace_back(module_, std::move(mask));
}

void ModeWatch::process(const Event& event) {
  if (event.grad_enabled()) (event.training() ? trains_ : evaluates_) = true;
}

void LossWatch::process(const Event& event) {
  if (!event.is_loss() || !event.training()) return;
  sum_ += event.scalar();
  ++count_;
  if (first_bad_.is_there()) return;
  if (std::isfinite(event.scalar())) {
    first_bad_.finite_before = event.step() + 1;
  } else {
    first_bad_.step = event.step();
    first_bad_.what = "the training loss";
  }
}

}  // namespace loupe::ranks
