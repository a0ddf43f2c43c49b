#include "torch/taps/timed_step.h"

#include <ATen/record_function.h>

#include "pipeline/step_timer.h"

namespace loupe {
namespace {

std::unique_ptr<at::ObserverContext> node_starts(const at::RecordFunction& node) {
  if (StepTimer* timer = StepTimer::here()) {
    const bool was_made_here = node.forwardThreadId() == at::RecordFunction::currentThreadId();
    timer->enter_node(was_made_here ? node.seqNr() : -1);
  }
  return nullptr;
}

void node_ends(const at::RecordFunction&, at::ObserverContext*) {
  if (StepTimer* timer = StepTimer::here()) {
    timer->leave_node();
  } else {
    StepTimer::node_ran_elsewhere();
  }
}

}  // namespace

void step_is_over() {
  // Autograd's own threads take over what this one listens to.
  thread_local at::CallbackHandle handle = at::INVALID_CALLBACK_HANDLE;
  const bool listens = handle != at::INVALID_CALLBACK_HANDLE;
  const bool times = StepTimer::instance().step_over();
  if (times == listens) return;
  if (times) {
    handle = at::addThreadLocalCallback(
        at::RecordFunctionCallback(&node_starts, &node_ends).scopes({at::RecordScope::BACKWARD_FUNCTION}));
  } else {
    at::removeCallback(handle);
    handle = at::INVALID_CALLBACK_HANDLE;
  }
}

}  // namespace loupe
