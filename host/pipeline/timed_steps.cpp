#include "pipeline/timed_steps.h"

#include <loupe/draft/abi/step_time.h>

#include "pipeline/step_timer.h"

namespace loupe {
namespace {

constexpr uint32_t flags = LOUPE_EVENT_TRAINING | LOUPE_EVENT_GRAD_ENABLED;

}  // namespace

TimedSteps::~TimedSteps() {
  interrupt();
}

void TimedSteps::deliver() {
  const auto step = StepTimer::instance().take(this);
  if (!step) return;
  if (Stream* whole = modules_.pushes().stream(LOUPE_DRAFT_TAP_STEP_TIME)) {
    for (std::size_t i = 0; i < step_parts; ++i)
      whole->dispatch(nullptr, flags, nullptr, step->parts[i], name_of(static_cast<StepPart>(i)));
    whole->dispatch(nullptr, flags, nullptr, step->seconds, "step");
  }
  for (const TimedStep::Layer& layer : step->layers) {
    const auto node = layer.node.lock();
    Stream* stream = node != nullptr ? node->stream(LOUPE_DRAFT_TAP_STEP_TIME) : nullptr;
    if (stream == nullptr) continue;
    stream->dispatch(nullptr, flags, nullptr, layer.time.forward, "forward");
    stream->dispatch(nullptr, flags, nullptr, layer.time.backward, "backward");
    stream->dispatch(nullptr, flags, nullptr, layer.time.calls, "calls");
  }
}

void TimedSteps::stepped(bool looks) {
  const Stream* whole = modules_.pushes().stream(LOUPE_DRAFT_TAP_STEP_TIME);
  if (whole == nullptr || whole->resting()) return;
  StepTimer::instance().close(this);
  const uint64_t since = ++steps_ - asked_at_;
  if (!looks || steps_ < warm_up) return;
  if (since < (asked_since_tick_ ? every : at_least) && asked_at_ != 0) return;
  asked_at_ = steps_;
  asked_since_tick_ = true;
  StepTimer::instance().request(this);
}

void TimedSteps::interrupt() {
  asked_since_tick_ = false;
  if (StepTimer::instance().drop(this)) asked_at_ = 0;  // the next one will do
}

}  // namespace loupe
