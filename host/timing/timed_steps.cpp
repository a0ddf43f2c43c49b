#include "timing/timed_steps.h"

#include <loupe/draft/abi/step_time.h>

#include <utility>

#include "timing/step_timer.h"

namespace loupe {
namespace {

void tell(Stream* stream, const char* label, double value) {
  if (stream != nullptr)
    stream->dispatch(nullptr, LOUPE_EVENT_TRAINING | LOUPE_EVENT_GRAD_ENABLED, nullptr, value, label);
}

bool is_watched(const Stream* stream) {
  return stream != nullptr && !stream->resting();
}

}  // namespace

TimedSteps::~TimedSteps() {
  StepTimer::instance().drop(this, /*ends=*/true);
}

void TimedSteps::trace(const TimedStep& step) {
  const bool is_wanted = steps_ >= trace_after_ && step.number > traced_from_;
  if (is_wanted && std::exchange(is_early_, false)) trace_.emplace(traced_);
  if ((is_wanted || is_early_) && !trace_->is_whole()) trace_->add(step);
}

void TimedSteps::deliver() {
  while (auto step = StepTimer::instance().take(this)) {
    if (trace_ && !step->spans.empty()) trace(*step);
    tell_layers(*step);
    tell_whole(*step);
  }
}

void TimedSteps::tell_layers(const TimedStep& step) {
  for (const TimedStep::Layer& layer : step.layers) {
    const auto node = layer.node.lock();
    if (node == nullptr) continue;
    if (layer.time.calls > 0 || layer.time.backward > 0) {
      Stream* time = node->stream(LOUPE_DRAFT_TAP_STEP_TIME);
      tell(time, "forward", layer.time.forward);
      tell(time, "backward", layer.time.backward);
      tell(time, "calls", layer.time.calls);
    }
    if (step.has_memory) tell(node->stream(LOUPE_DRAFT_TAP_STEP_MEMORY), "kept", layer.kept);
  }
}

void TimedSteps::tell_whole(const TimedStep& step) {
  Stream* time = modules_.pushes().stream(LOUPE_DRAFT_TAP_STEP_TIME);
  if (step.on_device) tell(time, "device", 1);
  for (std::size_t i = 0; i < step_parts; ++i) tell(time, name_of(static_cast<StepPart>(i)), step.parts[i]);
  tell(time, "step", step.seconds);
  if (!step.has_memory) return;
  double kept = 0;
  for (const TimedStep::Layer& layer : step.layers) kept += layer.kept;
  Stream* memory = modules_.pushes().stream(LOUPE_DRAFT_TAP_STEP_MEMORY);
  tell(memory, "kept", kept);
  tell(memory, "kept outside", step.kept_outside);
  tell(memory, "optimizer state", step.optimizer_state);
}

void TimedSteps::stepped(uint64_t number, bool looks) {
  const bool memory = is_watched(modules_.pushes().stream(LOUPE_DRAFT_TAP_STEP_MEMORY));
  const bool time = is_watched(modules_.pushes().stream(LOUPE_DRAFT_TAP_STEP_TIME));
  if (!memory && !time && !trace_) return;
  StepTimer::instance().close(this, number);
  const uint64_t since = ++steps_ - asked_at_;
  if (steps_ == trace_after_) traced_from_ = number;
  traces_ = false;
  if (!looks || steps_ < warm_up) return;
  const bool traces = trace_ && (!trace_->is_whole() || (is_early_ && steps_ >= trace_after_));
  const bool is_due = (memory || time) && (asked_at_ == 0 || since >= (asked_since_tick_ ? every : at_least));
  if (!is_due && !traces) return;
  traces_ = traces;
  StepTimer::instance().request(this, {memory && !asked_since_tick_ && !traces, traces});
  if (!is_due) return;
  asked_at_ = steps_;
  asked_since_tick_ = true;
}

void TimedSteps::interrupt() {
  asked_since_tick_ = false;
  if (traces_) return;                                  // the tick shows in the trace
  if (StepTimer::instance().drop(this)) asked_at_ = 0;  // the next one will do
}

}  // namespace loupe
