#include "torch/taps/timed_step.h"

#include <ATen/record_function.h>

#include "pipeline/step_timer.h"
#include "torch/taps/kept_memory.h"
#include "torch/taps/optimizer_states.h"

namespace loupe {
namespace {

/// What this thread listens to, which autograd's own threads take over.
struct Listening {
  at::CallbackHandle nodes = at::INVALID_CALLBACK_HANDLE, operations = at::INVALID_CALLBACK_HANDLE;
  KeptMemory memory;

  void end() { end(nodes), end(operations); }
  static void end(at::CallbackHandle& handle) {
    if (handle != at::INVALID_CALLBACK_HANDLE) at::removeCallback(handle);
    handle = at::INVALID_CALLBACK_HANDLE;
  }
};
Listening& listening() {
  thread_local Listening listening;
  return listening;
}

std::unique_ptr<at::ObserverContext> node_starts(const at::RecordFunction& node) {
  StepTimer* timer = StepTimer::here();
  if (timer == nullptr) return nullptr;
  if (listening().operations != at::INVALID_CALLBACK_HANDLE && !timer->has_kept()) {
    const LoupeTime time;
    timer->set_kept(listening().memory.take());
  }
  const bool was_made_here = node.forwardThreadId() == at::RecordFunction::currentThreadId();
  timer->enter_node(was_made_here ? node.seqNr() : -1, node.name());
  return nullptr;
}

void node_ends(const at::RecordFunction&, at::ObserverContext*) {
  if (StepTimer* timer = StepTimer::here()) {
    timer->leave_node();
  } else {
    StepTimer::node_ran_elsewhere();
  }
}

struct Operation : at::ObserverContext {
  KeptMemory::Inputs inputs;
};

/// Null where nobody wants to know of it: what Loupe itself computes, and the backward pass.
std::unique_ptr<at::ObserverContext> operation_starts(const at::RecordFunction& operation) {
  StepTimer* timer = StepTimer::here();
  if (timer == nullptr || timer->has_kept() || timer->is_in_loupe()) return nullptr;
  const LoupeTime time;
  auto started = std::make_unique<Operation>();
  started->inputs = KeptMemory::inputs_of(operation);
  return started;
}

void operation_ends(const at::RecordFunction& operation, at::ObserverContext* started) {
  StepTimer* timer = StepTimer::here();
  if (timer == nullptr || started == nullptr) return;
  const LoupeTime time;
  listening().memory.note(operation, static_cast<const Operation*>(started)->inputs, timer->open_layer());
}

}  // namespace

void step_is_over(const torch::optim::Optimizer* optimizer) {
  Listening& mine = listening();
  StepTimer& timer = StepTimer::instance();
  if (StepTimer::here() != nullptr && timer.measures_memory() && optimizer != nullptr)
    timer.add_optimizer_state(state_bytes(*optimizer));
  const bool times = timer.step_over();
  if (times == (mine.nodes != at::INVALID_CALLBACK_HANDLE)) return;
  if (!times) return mine.end();
  mine.nodes = at::addThreadLocalCallback(
      at::RecordFunctionCallback(&node_starts, &node_ends).scopes({at::RecordScope::BACKWARD_FUNCTION}));
  mine.memory.take();
  if (!timer.measures_memory()) return;
  mine.operations = at::addThreadLocalCallback(at::RecordFunctionCallback(&operation_starts, &operation_ends)
                                                   .needsInputs(true)
                                                   .needsOutputs(true)
                                                   .scopes({at::RecordScope::FUNCTION}));
}

}  // namespace loupe
